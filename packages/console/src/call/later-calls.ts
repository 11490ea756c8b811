import type { CallRow, TraceOutlineRes } from "@heddle/client/tracing";

/** Calls of a trace that were read after its outline, by what they are below: a call, a parent that is missing, or nothing. */
export interface LaterCalls {
  below: string;
  calls: readonly CallRow[];
}

const none = -1;

/** Microseconds since 1970. */
export function microsOf(time: string): number {
  const [, micros = "0"] = /\.\d{3}(\d{3})/.exec(time) ?? [];
  return 1000 * Math.floor(Date.parse(time)) + Number(micros);
}

/** An outline with further calls behind their siblings. Linear in the length of all. */
export function withLaterCalls(data: TraceOutlineRes, later: readonly LaterCalls[]): TraceOutlineRes {
  const size = data.ids.length;
  const places = new Map(data.ids.map((id, index) => [id, index]));
  const added: CallRow[] = [];
  const addedBelow: string[] = [];
  for (const { below, calls } of later)
    for (const call of calls) {
      if (places.has(call.id)) continue;
      places.set(call.id, size + added.push(call) - 1);
      addedBelow.push(below);
    }
  const calls = size + added.length;
  // Behind the calls are the parents that are missing, and behind those what is at the top.
  const missing = new Map(data.missing_parents.map(({ id }, index) => [id, calls + index]));
  const top = calls + data.missing_parents.length;
  const below = new Map<number, number[]>();
  const append = (parent: number, child: number) => {
    const siblings = below.get(parent);
    if (siblings === undefined) below.set(parent, [child]);
    else siblings.push(child);
  };
  let [missingAt, left] = [-1, 0];
  for (let index = 0; index < size; index++) {
    const parent = data.parent[index] ?? none;
    if (parent !== none) {
      append(parent, index);
      continue;
    }
    const following = data.missing_parents[missingAt + 1];
    if (following?.first === index) {
      missingAt++;
      left = following.children;
      append(top, calls + missingAt);
    }
    append(left-- > 0 ? calls + missingAt : top, index);
  }
  for (const [index, above] of addedBelow.entries())
    append(above === "" ? top : (places.get(above) ?? missing.get(above) ?? top), size + index);

  const order: number[] = [];
  const parents: number[] = [];
  const missingParents: TraceOutlineRes["missing_parents"] = [];
  /** Siblings from the top down, how many of them are there already, and the place of their parent in the order. */
  const path = [{ siblings: below.get(top) ?? [], at: 0, parent: none }];
  for (let level = path[0]; level !== undefined; level = path.at(-1)) {
    const node = level.siblings[level.at++];
    if (node === undefined) {
      path.pop();
      continue;
    }
    const children = below.get(node) ?? [];
    let place = none;
    if (node < calls) {
      place = order.push(node) - 1;
      parents.push(level.parent);
    } else {
      const id = data.missing_parents[node - calls]?.id ?? "";
      missingParents.push({ id, first: order.length, children: children.length });
    }
    path.push({ siblings: children, at: 0, parent: place });
  }

  const names = [...data.names];
  const nameAt = new Map(names.map((name, index) => [name, index]));
  const nameOf = ({ name = "" }: CallRow): number => {
    const known = nameAt.get(name) ?? names.push(name) - 1;
    nameAt.set(name, known);
    return known;
  };
  function ordered<T>(list: readonly T[], of: (call: CallRow) => T): T[] {
    return order.map((index) => (index < size ? list[index] : of(added[index - size] as CallRow)) as T);
  }
  return {
    ...data,
    ids: ordered(data.ids, ({ id }) => id),
    parent: parents,
    name: ordered(data.name, nameOf),
    names,
    kind: ordered(data.kind, () => "other"),
    status: ordered(data.status, ({ status = "success" }) => status),
    start_us: ordered(data.start_us, ({ started_at }) => microsOf(started_at)),
    end_us: ordered(data.end_us, ({ ended_at }) => (ended_at === undefined ? null : microsOf(ended_at))),
    tokens: ordered(data.tokens, ({ tokens = 0 }) => tokens),
    children: order.map((index) => Math.max(below.get(index)?.length ?? 0, data.children[index] ?? 0)),
    missing_parents: missingParents,
  };
}
