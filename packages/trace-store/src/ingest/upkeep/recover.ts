import { HeddleError } from "@heddle/errors";
import type { Engine } from "../../engine/engine.js";
import { Parameters } from "../../engine/parameters.js";
import { StatementError } from "../../engine/statement-error.js";
import { keyText } from "../../stored-calls/call-key.js";
import { newestVersion } from "../../version-clock.js";
import { closeOpenSides } from "../commit/delete-calls.js";
import { putAsideCorrupt } from "./put-aside.js";
import { loadState } from "./load-state.js";
import { indexCalls, startWithIds } from "./fill-ids.js";
import { findInconsistencies } from "./find-inconsistencies.js";
import { repair } from "./repair.js";
import { versionSpans } from "./version-spans.js";
import type { Slice } from "./slices.js";
import { loadWatermarks, storeWatermarks } from "./watermarks.js";
import type { IngestContext } from "../context.js";

/** What a process sent before it was stopped can still have arrived later, below the watermark. */
const reachUs = 600_000_000n;
const earlier = (version: bigint) => (version > reachUs ? version - reachUs : 0n);

/**
 * Makes memory and database consistent again: at start, after the engine came back, and after an insert of unknown
 * outcome. Nothing else is written before it has succeeded. Parts of `calls` that it cannot read are put aside.
 */
export async function recover(context: IngestContext): Promise<void> {
  for (;;) {
    try {
      return await recoverOnce(context);
    } catch (error) {
      if (!(await putAsideCorrupt(context, error))) throw error;
    }
  }
}

async function recoverOnce(context: IngestContext): Promise<void> {
  const { engine, clock, state } = context;
  // Cleared first: the engine may restart once more while this runs.
  state.needsRecovery = false;
  try {
    await writesToEnd(context);
    const { watermarks, newest, rows } = await loadWatermarks(engine);
    state.watermarks = { ...watermarks, indexed: earlier(watermarks.indexed) };
    state.rows = rows;
    clock.seed(newest);
    // Without a watermark relative to the newest row, not to now: the crash may be long ago.
    const since = watermarks.consistent || earlier(newest);
    // Writes wait for this.
    const [leftovers, unchecked] = await Promise.all([loadState(context), countUnchecked(engine, since)]);
    await startWithIds(context);
    await closeOpenSides(context, leftovers.deleted);
    state.repairedUpTo = await repairNewest(context, { after: since, upTo: newest }, unchecked);
    await repair(context, { open: [], doubled: [] }, leftovers.pairs);
  } catch (error) {
    state.needsRecovery = true;
    throw error;
  }
  state.endClosing();
}

/** Rows that are checked before anything is written. */
const checkedFirst = 20_000;

/** Rows of calls that a crash can concern. */
interface Unchecked {
  /** With those that can have arrived late. */
  reached: number;
  recent: number;
  last: bigint;
}

async function countUnchecked(engine: Engine, after: bigint): Promise<Unchecked> {
  const params = new Parameters();
  const [reach, since] = [earlier(after), after].map((version) => params.bind("UInt64", version));
  const sql = `SELECT count() AS reached, countIf(version > ${since}) AS recent, max(version) AS last
    FROM calls WHERE version > ${reach}`;
  const [row] = await engine.rows<{ reached: string; recent: string; last: string }>({ sql, params });
  const { reached = "0", recent = "0", last = "0" } = row ?? {};
  return { reached: Number(reached), recent: Number(recent), last: BigInt(last) };
}

/**
 * Repairs what a crash can have left after a version, and returns up to which version nothing else is to be repaired. Where rows are
 * many only those of the last commit are checked here: no other can have been interrupted.
 */
async function repairNewest(
  context: IngestContext,
  { after, upTo }: Pick<Slice, "after" | "upTo">,
  { reached, recent, last }: Unchecked,
): Promise<bigint> {
  const { engine, clock, state } = context;
  const isFew = recent <= checkedFirst;
  let from = reached <= checkedFirst ? earlier(after) : after;
  if (!isFew) from = last - 1n;
  for (const span of await versionSpans(engine, from, upTo)) {
    const found = await findInconsistencies(context, span);
    for (const { versions, ...call } of found.doubled) {
      const newest = versions.at(-1);
      // Memory then knows where it is.
      if (newest !== undefined) state.known.add(keyText(call), BigInt(newest[1]));
    }
    await repair(context, found);
  }
  return isFew && state.hasAllIds() ? clock.last() : after;
}

/** Stores how far everything is consistent, if that is further than before. */
export async function raiseWatermark(context: IngestContext): Promise<void> {
  const { engine, state } = context;
  if (state.raisedUpTo === state.repairedUpTo) return;
  state.raisedUpTo = state.repairedUpTo;
  const consistent = await newestVersion(engine, state.watermarks.consistent, state.repairedUpTo);
  if (consistent > state.watermarks.consistent) await storeWatermarks(context, { consistent });
}

/** After the last commit: leaves the next start little to look at, as far as that is quick. */
export async function leaveConsistent(context: IngestContext): Promise<void> {
  const { engine, clock, state } = context;
  if (state.needsRecovery) return;
  if (clock.last() > state.repairedUpTo) {
    const span = { after: state.repairedUpTo, upTo: clock.last() };
    state.repairedUpTo = await repairNewest(context, span, await countUnchecked(engine, span.after));
  }
  await indexCalls(context, state.repairedUpTo);
  await raiseWatermark(context);
}

/** An insert whose response was lost may still be running, and would store rows later. */
async function writesToEnd({ engine, writer }: IngestContext): Promise<void> {
  const runningInserts = `query_kind = 'Insert' AND startsWith(Settings['log_comment'], '${writer}')`;
  for (let tries = 0; tries < 50; tries++) {
    let running: number;
    try {
      const sql = `SELECT count() AS running FROM system.processes WHERE ${runningInserts}`;
      const [row] = await engine.rows<{ running: string }>({ sql });
      running = Number(row?.running ?? 0);
      if (running > 0 && tries === 0) await engine.command({ sql: `KILL QUERY WHERE ${runningInserts} ASYNC` });
    } catch (error) {
      // An account that may not see or stop its statements; there is nothing to wait for then.
      if (error instanceof StatementError) return;
      throw error;
    }
    if (running === 0) return;
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
  }
  throw new HeddleError("busy", "The trace engine is still busy with an earlier write");
}
