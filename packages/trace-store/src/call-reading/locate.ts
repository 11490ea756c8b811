import { idTime } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { everyVersion } from "../stored-calls/hidden-call.js";
import { at, findsByIdAlone } from "../query/call-query.js";
import type { CallPlan, CallsById, LocatedCalls } from "../query/call-query.js";
import type { Page } from "../query/page.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import type { CallScope } from "../visibility/call-scope.js";
import type { CallSelection, LookUp } from "../visibility/visible-calls.js";
import { during, fewSpans } from "../stored-calls/time-spans.js";
import type { TimeSpan } from "../stored-calls/time-spans.js";

/**
 * How far a call's start may be from the time that its id carries: clients make ids when calls start; some make them when
 * they send or import a call.
 */
const nearUs = 10_000_000n;
const dayUs = 86_400_000_000n;

type Condition = (p: Parameters) => Pick<CallSelection, "where" | "lookUp">;

/** How to find one call, in the order to try. Memory may be wrong about a call that is being replaced: it comes first. */
export function callConditions(scope: CallScope, id: string): Condition[] {
  const known = rememberedCalls(scope, [id]);
  const byId = waysOf(scope)
    .filter(({ canFind }) => canFind([id]).length > 0)
    .flatMap((way) => (way === anywhere ? searches(scope) : [way.find]))
    .map(
      (find): Condition =>
        (p) =>
          find(p, [id]),
    );
  return known.ids.length === 0 ? byId : [(p) => ({ where: at(p, known) }), ...byId];
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
  find: (p: Parameters, ids: readonly string[]) => ReturnType<Condition>;
}

/** Near the times that ids carry, if they do (UUIDv7): the table is ordered by time. */
const within = (margin: bigint): Way => ({
  canFind: (ids) => ids.filter((id) => idTime(id) !== undefined),
  find: (p, ids) => ({ where: [during(p, fewSpans(around(ids, margin))), p.in("id", "String", ids)] }),
});

const anywhere: Way = {
  canFind: (ids) => ids,
  find: (p, ids) => ({ where: [p.in("id", "String", ids)], lookUp: true }),
};

/** Up to here the filters of all ids are asked sooner than `call_ids`. */
const fewRows = 1_000_000;

const byFilters: Way["find"] = (p, ids) => ({ where: [p.in("id", "String", ids)] });

/** One call anywhere. What came since `call_ids` was filled is asked for last: most calls are older, and memory has most that are not. */
function searches({ inFlight }: CallScope): Array<Way["find"]> {
  const indexed = inFlight.indexedUpTo();
  if (indexed === undefined || inFlight.mostRows() <= fewRows) return [byFilters];
  const parts: ReadonlyArray<LookUp["part"]> = ["ids", "newer"];
  return parts.map((part): Way["find"] => (p, ids) => ({
    where: [p.in("id", "String", ids)],
    lookUp: { part, indexed },
  }));
}

/**
 * How to find calls by id, in the order to try. Without `call_ids` the last one reads all ids of a project when they are many.
 */
function waysOf({ inFlight }: CallScope): readonly Way[] {
  return inFlight.indexedUpTo() !== undefined ? [within(nearUs), anywhere] : [within(nearUs), within(dayUs), anywhere];
}

/**
 * Where the calls by id of a plan should be: where memory has them, else near the times that the ids carry. Undefined when some
 * may be anywhere, memory has all of them, or a page could lack some without showing it.
 */
export function likelyLocations(scope: CallScope, plan: CallPlan, page: Page): CallsById | undefined {
  if (!findsByIdAlone(plan)) return undefined;
  const all = notDeleted(scope, plan.filter.call_ids ?? []);
  if ((page.offset ?? 0) + (page.limit ?? Number.POSITIVE_INFINITY) < all.length) return undefined;
  const remembered = rememberedCalls(scope, all);
  const known = new Set(remembered.ids);
  const others = all.filter((id) => !known.has(id));
  if (others.length === 0 || others.some((id) => idTime(id) === undefined)) return undefined;
  const there = remembered.started_at.map((time) => ({ from: time, to: time }));
  return { ids: all, within: fewSpans([...there, ...around(others, nearUs)]) };
}

export interface LocateOptions {
  signal?: AbortSignal | undefined;
  /** The calls that were {@link likelyLocations likely} somewhere and are there: the others are not. */
  found?: LocatedCalls | undefined;
}

/**
 * Finds where calls with these ids are, in memory or else in the tables.
 * Not when one has to be looked for everywhere: that takes as long as to read the calls by id alone.
 */
export async function locateCalls(
  engine: Engine,
  scope: () => CallScope,
  ids: readonly string[],
  { signal, found }: LocateOptions = {},
): Promise<CallsById> {
  const all = notDeleted(scope(), ids);
  const known = found ?? rememberedCalls(scope(), all);
  const located = new Set(known.ids);
  const times = new Set(known.started_at);
  let wanted = all.filter((id) => !located.has(id));
  if (wanted.some((id) => idTime(id) === undefined)) return { ids: all };
  const ways = waysOf(scope());
  for (const { canFind, find } of found === undefined ? ways : ways.slice(1)) {
    const some = canFind(wanted);
    if (some.length === 0) continue;
    const statement = () => {
      const p = new Parameters();
      const select = ["id", "toUnixTimestamp64Micro(started_at) AS started_us"];
      return { sql: visibleCalls(scope(), p, { select, ...find(p, some), ids: some }), params: p };
    };
    for (const { id, started_us } of await engine.rows<{ id: string; started_us: string }>(statement, { signal })) {
      located.add(id);
      times.add(BigInt(started_us));
    }
    wanted = wanted.filter((id) => !located.has(id));
  }
  return { ids: [...located], started_at: [...times] };
}

/** Each id once, without those of calls that were deleted a moment ago: the whole project would be searched for them. */
function notDeleted({ project_id, inFlight }: CallScope, ids: readonly string[]): string[] {
  const hidden = inFlight.hidden(project_id);
  return [...new Set(ids)].filter((id) => hidden?.get(id)?.upTo !== everyVersion);
}

/** `margin` to both sides of each id's time. */
function around(ids: readonly string[], margin: bigint): TimeSpan[] {
  const times = ids.map(idTime).filter((time) => time !== undefined);
  return times.map((time) => ({ from: time - margin, to: time + margin }));
}
