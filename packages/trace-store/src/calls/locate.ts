import { idTime } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { at } from "../query/call-query.js";
import type { LocatedCalls } from "../query/call-query.js";
import { visibleCalls } from "../query/visible-calls.js";
import type { CallScope } from "../query/visible-calls.js";

const dayUs = 86_400_000_000n;
const maxWindows = 32;

type Condition = (p: Parameters) => string[];

/** How to find one call, in the order to try. Memory may be wrong about a call that is being replaced: it comes first. */
export function callConditions(scope: CallScope, id: string): Condition[] {
  const known = rememberedCalls(scope, [id]);
  return known.ids.length === 0 ? idConditions([id]) : [(p) => at(p, known), ...idConditions([id])];
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

/**
 * How to find calls by id, in the order to try. The table is ordered by time, so ids that carry one (UUIDv7) are looked
 * for within a day of it first; the rest is looked for everywhere, which reads all ids of a project when they are many.
 */
function idConditions(ids: readonly string[]): Condition[] {
  const dated = ids.filter((id) => idTime(id) !== undefined);
  const everywhere: Condition = (p) => [p.in("id", "String", ids)];
  if (dated.length === 0) return [everywhere];
  const windows = windowsAround(dated);
  return [(p) => [during(p, windows), p.in("id", "String", dated)], everywhere];
}

/** Finds where calls with these ids are: in memory, else in the table. */
export async function locateCalls(
  engine: Engine,
  scope: () => CallScope,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<LocatedCalls> {
  const remembered = rememberedCalls(scope(), ids);
  const found = new Set(remembered.ids);
  const times = new Set(remembered.started_at);
  let wanted = [...new Set(ids)].filter((id) => !found.has(id));
  for (let round = 0; wanted.length > 0 && round < 2; round++) {
    const conditions = idConditions(wanted);
    const condition = conditions[Math.min(round, conditions.length - 1)];
    const statement = () => {
      const p = new Parameters();
      const select = ["id", "toUnixTimestamp64Micro(started_at) AS started_us"];
      return { sql: visibleCalls(scope(), p, { select, where: condition?.(p), ids: wanted }), params: p };
    };
    for (const { id, started_us } of await engine.rows<{ id: string; started_us: string }>(statement, { signal })) {
      found.add(id);
      times.add(BigInt(started_us));
    }
    if (conditions.length === 1) break;
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

/** A day to both sides of each id's time; windows that touch become one, and so do near ones when there are many. */
function windowsAround(ids: readonly string[]): Window[] {
  const times = ids
    .map(idTime)
    .filter((us) => us !== undefined)
    .toSorted((a, b) => (a < b ? -1 : 1));
  for (let margin = 2n * dayUs; ; margin *= 2n) {
    const windows: Window[] = [];
    for (const us of times) {
      const last = windows.at(-1);
      if (last !== undefined && us - dayUs <= last.to + margin - 2n * dayUs) last.to = us + dayUs;
      else windows.push({ from: us - dayUs, to: us + dayUs });
    }
    if (windows.length <= maxWindows) return windows;
  }
}
