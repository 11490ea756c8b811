import { HeddleError } from "@heddle/errors";
import { isStorableTime } from "@heddle/trace-model";
import type { ApiSchemas } from "../api-schemas.js";
import type { ReadOptions } from "../context.js";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import type { InFlight } from "../stored-calls/in-flight.js";
import { checkFilter } from "../query/filter.js";
import { checkPage } from "../query/page.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import { orderBy, parseThreadSort } from "./thread-sort.js";
import type { ThreadOrder } from "./thread-sort.js";

type ThreadsQueryReq = ApiSchemas["ThreadsQueryReq"];

/** Which turns count. Times are microseconds since 1970. */
export interface TurnFilter {
  thread_ids?: readonly string[];
  /** Turns that began later. */
  after_datetime?: bigint;
  /** Turns that began earlier. */
  before_datetime?: bigint;
}

export interface ThreadsQuery extends Omit<ThreadsQueryReq, "filter"> {
  filter?: TurnFilter;
}

/** A thread, summed up over its turns. Times are microseconds since 1970. */
export interface Thread {
  thread_id: string;
  turn_count: number;
  start_time: bigint;
  last_updated: bigint;
  first_turn_id: string;
  last_turn_id: string;
  p50_turn_duration_ms: number;
  p99_turn_duration_ms: number;
}

export interface ThreadsContext {
  engine: Engine;
  /** Microseconds since 1970. */
  now: () => bigint;
  inFlight: InFlight;
}

export interface Threads {
  /**
   * Threads with at least one turn that has ended, one by one, with back-pressure; leaving the loop or aborting stops
   * the statement. Throws `invalid` at once for sort fields, pages, times and lists that cannot be.
   */
  query(request: ThreadsQuery, options?: ReadOptions): AsyncIterable<Thread>;
}

export function openThreads(context: ThreadsContext): Threads {
  return {
    query(request, options) {
      const { filter = {} } = request;
      checkFilter({ thread_ids: [...(filter.thread_ids ?? [])] });
      checkTime(filter, "after_datetime");
      checkTime(filter, "before_datetime");
      if (request.limit !== undefined) checkPage({ limit: request.limit }, 1);
      checkPage({ offset: request.offset });
      return queryThreads(context, request, parseThreadSort(request.sort_by), options);
    },
  };
}

function checkTime(filter: TurnFilter, name: "after_datetime" | "before_datetime"): void {
  const us = filter[name];
  if (us === undefined || isStorableTime(us)) return;
  throw new HeddleError("invalid", `${name} must be a time between the years 1900 and 2299`, { loc: ["filter", name] });
}

interface ThreadRow {
  thread_id: string;
  turn_count: string;
  start_us: string;
  end_us: string;
  first_turn_id: string;
  last_turn_id: string;
  durations_us: [number, number];
}

async function* queryThreads(
  { engine, now, inFlight }: ThreadsContext,
  request: ThreadsQuery,
  order: ThreadOrder,
  { signal }: ReadOptions = {},
): AsyncGenerator<Thread, void, undefined> {
  const { project_id } = request;
  const statement = () => {
    const p = new Parameters();
    const turns = visibleCalls({ project_id, now: now(), inFlight }, p, {
      select: ["thread_id", "id", "toUnixTimestamp64Micro(started_at) AS us", "latency_us"],
      ...turnConditions(p, request.filter),
    });
    return { sql: `${summary} FROM (${turns}) ${grouped} ORDER BY ${orderBy(order)}${page(p, request)}`, params: p };
  };
  // A reader may take its time: the engine's limit for statements would cut a long result short.
  const settings = { max_execution_time: 0 };
  for await (const row of engine.stream<ThreadRow>(statement, { signal, settings })) {
    const [p50, p99] = row.durations_us;
    yield {
      thread_id: row.thread_id,
      turn_count: Number(row.turn_count),
      start_time: BigInt(row.start_us),
      last_updated: BigInt(row.end_us),
      first_turn_id: row.first_turn_id,
      last_turn_id: row.last_turn_id,
      p50_turn_duration_ms: p50 / 1000,
      p99_turn_duration_ms: p99 / 1000,
    };
  }
}

/** Running turns have no latency: they count, and no aggregate over latencies sees them. */
const summary = `SELECT thread_id, count() AS turn_count, min(us) AS start_us, max(us + latency_us) AS end_us,
  argMin(id, us) AS first_turn_id, argMax(id, us + latency_us) AS last_turn_id,
  quantilesExactInclusive(0.5, 0.99)(latency_us) AS durations_us`;
const grouped = "GROUP BY thread_id HAVING end_us IS NOT NULL";

function turnConditions(p: Parameters, { thread_ids, after_datetime, before_datetime }: TurnFilter = {}) {
  return {
    prewhere: [
      ...(thread_ids?.length ? [p.in("thread_id", "String", thread_ids)] : []),
      "thread_id != ''",
      "turn_id = id",
    ],
    where: [
      ...(after_datetime === undefined ? [] : [`started_at > ${p.time(after_datetime)}`]),
      ...(before_datetime === undefined ? [] : [`started_at < ${p.time(before_datetime)}`]),
    ],
  };
}

function page(p: Parameters, { limit, offset }: ThreadsQuery): string {
  const limited = limit === undefined ? "" : ` LIMIT ${p.bind("UInt64", limit)}`;
  return limited + (offset === undefined ? "" : ` OFFSET ${p.bind("UInt64", offset)}`);
}
