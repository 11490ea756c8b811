import { mainThread } from "@heddle/concurrency";
import { restAfter } from "../background-share.js";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { callRowColumns } from "../stored-calls/rows.js";
import type { ReadBackSlice, ReadCall } from "../stored-calls/kept-call.js";
import type { CallRow } from "../stored-calls/stored-call.js";
import type { CallScope } from "../visibility/call-scope.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import { listSettings } from "./statements.js";
import type { CallSource } from "./statements.js";

/**
 * Reads the newest complete calls of a project back into memory, where a start or the writes of others have left too few of them
 * there: 10,000 at once, and what else memory takes in the background, with half of a core while nobody uses it, else with a
 * twentieth. Never rejects.
 */
export async function readBack({ engine, scope }: Pick<CallSource, "engine" | "scope">): Promise<void> {
  const { project_id, inFlight } = scope();
  const reading = inFlight.readBack(project_id);
  if (reading === undefined) return;
  try {
    for (let slice = reading.next(); slice !== undefined; slice = reading.next()) {
      const began = performance.now();
      const after = await firstLeftOut(engine, scope, slice);
      const isTaken = reading.add(await callsOf(engine, scope, slice, after), after ?? "all");
      if (!slice.isUrgent && isTaken) await restAfter(performance.now() - began, slice.isIdle);
    }
  } catch {
    // They are read from the tables.
  } finally {
    reading.end();
  }
}

/** One thread of the engine: another one is there for others. */
const settings = { ...listSettings, max_threads: 1 };

/** Calls that are read before others get to run. */
const readAtOnce = 200;

/** The calls of a slice that started after a time. */
async function callsOf(
  engine: Engine,
  scope: () => CallScope,
  slice: ReadBackSlice,
  after: bigint | undefined,
): Promise<ReadCall[]> {
  const calls: ReadCall[] = [];
  for await (const row of engine.stream<Row>(() => rowsOf(scope(), slice, after), { settings })) {
    calls.push(readCall(scope().project_id, row));
    if (calls.length % readAtOnce === 0) await mainThread.giveWay();
  }
  return calls;
}

/** About the bytes of a row besides its payloads. */
const rowBytes = 500;

/** When the newest call of a slice started that memory does not take; undefined when it takes all. */
async function firstLeftOut(
  engine: Engine,
  scope: () => CallScope,
  { upTo, mostCalls, mostBytes }: ReadBackSlice,
): Promise<bigint | undefined> {
  const statement = () => {
    const p = new Parameters();
    const select = [started, `size_bytes + ${rowBytes} AS bytes`];
    const where = startedUpTo(p, upTo);
    const order = { orderBy: "started_at DESC", limit: mostCalls, only: "complete" } as const;
    const newest = visibleCalls(scope(), p, { select, where, ...order });
    const total = `SELECT started_us, sum(bytes) OVER (ORDER BY started_us DESC ROWS UNBOUNDED PRECEDING) AS total FROM (${newest})`;
    const isOver = `total > ${p.bind("UInt64", mostBytes)}`;
    const sql = `SELECT count() AS calls, min(started_us) AS oldest, countIf(${isOver}) AS left, maxIf(started_us, ${isOver}) AS first FROM (${total})`;
    return { sql, params: p };
  };
  type Sums = Record<"calls" | "oldest" | "left" | "first", string>;
  const [sums] = await engine.rows<Sums>(statement, { settings });
  if (sums === undefined) return undefined;
  if (sums.left !== "0") return BigInt(sums.first);
  return Number(sums.calls) === mostCalls ? BigInt(sums.oldest) : undefined;
}

const started = "toUnixTimestamp64Micro(started_at) AS started_us";
/** A row of `calls` as `RowWriter` writes it, as far as what is kept of a call is read from it. */
const row = `formatRow('TabSeparated', ${callRowColumns.join(", ")}) AS row`;

type Row = Pick<CallRow, "id" | "trace_id" | "state" | "started_us"> & { version: string; row: string };

const startedUpTo = (p: Parameters, upTo: bigint | undefined): string[] =>
  upTo === undefined ? [] : [`started_at <= ${p.time(upTo)}`];

function rowsOf(scope: CallScope, { upTo }: ReadBackSlice, after: bigint | undefined) {
  const p = new Parameters();
  const where = [...startedUpTo(p, upTo), ...(after === undefined ? [] : [`started_at > ${p.time(after)}`])];
  const select = ["id", "trace_id", "version", "toString(status) AS state", started, row];
  return { sql: visibleCalls(scope, p, { select, where, only: "complete" }), params: p };
}

const readCall = (projectId: string, { id, trace_id, state, started_us, version, row: text }: Row): ReadCall => ({
  project_id: projectId,
  id,
  trace_id,
  version: BigInt(version),
  started_at: BigInt(started_us),
  status: state,
  row: Buffer.from(text),
});
