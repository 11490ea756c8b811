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
  const [first, last, next] = [0, 1, 2].map(() => new Int32Array(top + 1).fill(none)) as [
    Int32Array,
    Int32Array,
    Int32Array,
  ];
  const count = new Int32Array(top + 1);
  const append = (parent: number, child: number) => {
    const before = last[parent] ?? none;
    if (before === none) first[parent] = child;
    else next[before] = child;
    last[parent] = child;
    count[parent] = (count[parent] ?? 0) + 1;
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
  for (const [index, below] of addedBelow.entries())
    append(below === "" ? top : (places.get(below) ?? missing.get(below) ?? top), size + index);

  const order: number[] = [];
  const parents: number[] = [];
  const missingParents: TraceOutlineRes["missing_parents"] = [];
  /** What is above, with its place in the order. */
  const path: { node: number; place: number }[] = [];
  let node = first[top] ?? none;
  while (node !== none) {
    let place = none;
    if (node < calls) {
      place = order.push(node) - 1;
      parents.push(path.at(-1)?.place ?? none);
    } else {
      const id = data.missing_parents[node - calls]?.id ?? "";
      missingParents.push({ id, first: order.length, children: count[node] ?? 0 });
    }
    const below = first[node] ?? none;
    if (below !== none) {
      path.push({ node, place });
      node = below;
      continue;
    }
    node = next[node] ?? none;
    while (node === none && path.length > 0) node = next[path.pop()?.node ?? top] ?? none;
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
    children: order.map((index) => Math.max(count[index] ?? 0, data.children[index] ?? 0)),
    missing_parents: missingParents,
  };
}
