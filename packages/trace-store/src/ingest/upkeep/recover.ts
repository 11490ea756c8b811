import { HeddleError } from "@heddle/errors";
import type { Engine } from "../../engine/engine.js";
import { StatementError } from "../../engine/statement-error.js";
import { seedClock } from "../../version-clock.js";
import { closeOpenSides } from "../commit/delete-calls.js";
import { putAsideCorrupt } from "./put-aside.js";
import { loadState } from "./load-state.js";
import { findAndRepair } from "./repair.js";
import type { IngestContext } from "../context.js";

const repairReachUs = 600_000_000n;

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
    await writesToEnd(engine);
    await seedClock(engine, clock);
    // Relative to the newest row, not to now: the crash may be long ago.
    const since = clock.last() > repairReachUs ? clock.last() - repairReachUs : 0n;
    const leftovers = await loadState(context);
    await closeOpenSides(context, leftovers.deleted);
    await findAndRepair(context, since, leftovers.pairs);
  } catch (error) {
    state.needsRecovery = true;
    throw error;
  }
  state.endClosing();
}

const runningInserts =
  "current_database = currentDatabase() AND query_kind = 'Insert' AND query LIKE 'INSERT INTO call%'";

/** An insert whose response was lost may still be running, and would store rows later. */
async function writesToEnd(engine: Engine): Promise<void> {
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
