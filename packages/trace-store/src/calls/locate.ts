import { idTime } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { at } from "../query/call-query.js";
import type { CallsById, LocatedCalls } from "../query/call-query.js";
import { visibleCalls } from "../query/visible-calls.js";
import type { CallScope } from "../query/visible-calls.js";

/**
 * How far a call's start may be from the time that its id carries: clients make ids when calls start; some make them when
 * they send or import a call.
 */
const nearUs = 10_000_000n;
const dayUs = 86_400_000_000n;
/** Each is two more expressions that the engine prepares. */
const maxWindows = 8;

type Condition = (p: Parameters) => string[];

/** How to find one call, in the order to try. Memory may be wrong about a call that is being replaced: it comes first. */
export function callConditions(scope: CallScope, id: string): Condition[] {
  const known = rememberedCalls(scope, [id]);
  const byId = ways
    .filter(({ canFind }) => canFind([id]).length > 0)
    .map(
      ({ where }): Condition =>
        (p) =>
          where(p, [id]),
    );
  return known.ids.length === 0 ? byId : [(p) => at(p, known), ...byId];
}

/** The calls that memory can locate. */
function rememberedCalls({ project_id, inFlight }: CallScope, ids: Iterable<string>): LocatedCalls {
  const found = new Map<string, bigint>();
  for (const id of ids) {
    const startedAt = inFlight.startedAt({ project_id, id });
    if (startedAt !== undefined) found.set(id, startedAt);
  }
  return { ids: [...found.keys()], started_at: [...new Set(found.values())] };
}

interface Way {
  /** Those of the ids that it may find. */
  canFind: (ids: readonly string[]) => readonly string[];
  /** For one of these, at least. */
  where: (p: Parameters, ids: readonly string[]) => string[];
}

/** Near the times that ids carry, if they do (UUIDv7): the table is ordered by time. */
const within = (margin: bigint): Way => ({
  canFind: (ids) => ids.filter((id) => idTime(id) !== undefined),
  where: (p, ids) => [during(p, windowsAround(ids, margin)), p.in("id", "String", ids)],
});

/** How to find calls by id, in the order to try. The last one reads all ids of a project when they are many. */
const ways: readonly Way[] = [
  within(nearUs),
  within(dayUs),
  { canFind: (ids) => ids, where: (p, ids) => [p.in("id", "String", ids)] },
];

/**
 * Finds where calls with these ids are, in memory or else in the table. Not when one has to be looked for everywhere:
 * that takes as long as to read the calls by id alone.
 */
export async function locateCalls(
  engine: Engine,
  scope: () => CallScope,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<CallsById> {
  const all = [...new Set(ids)];
  const remembered = rememberedCalls(scope(), all);
  const found = new Set(remembered.ids);
  const times = new Set(remembered.started_at);
  let wanted = all.filter((id) => !found.has(id));
  if (wanted.some((id) => idTime(id) === undefined)) return { ids: all };
  for (const { canFind, where } of ways) {
    const some = canFind(wanted);
    if (some.length === 0) continue;
    const statement = () => {
      const p = new Parameters();
      const select = ["id", "toUnixTimestamp64Micro(started_at) AS started_us"];
      return { sql: visibleCalls(scope(), p, { select, where: where(p, some), ids: some }), params: p };
    };
    for (const { id, started_us } of await engine.rows<{ id: string; started_us: string }>(statement, { signal })) {
      found.add(id);
      times.add(BigInt(started_us));
    }
    wanted = wanted.filter((id) => !found.has(id));
  }
  return { ids: [...found], started_at: [...times] };
}

interface Window {
  from: bigint;
  to: bigint;
}

function during(p: Parameters, windows: readonly Window[]): string {
  return `(${windows.map(({ from, to }) => `started_at BETWEEN ${p.time(from)} AND ${p.time(to)}`).join(" OR ")})`;
}

/** `margin` to both sides of each id's time; windows that touch become one, and so do near ones when there are many. */
function windowsAround(ids: readonly string[], margin: bigint): Window[] {
  const times = ids
    .map(idTime)
    .filter((time) => time !== undefined)
    .toSorted((a, b) => (a < b ? -1 : 1));
  for (let gap = 0n; ; gap = gap === 0n ? 2n * margin : 2n * gap) {
    const windows: Window[] = [];
    for (const time of times) {
      const last = windows.at(-1);
      if (last !== undefined && time - margin <= last.to + gap) last.to = time + margin;
      else windows.push({ from: time - margin, to: time + margin });
    }
    if (windows.length <= maxWindows) return windows;
  }
}
