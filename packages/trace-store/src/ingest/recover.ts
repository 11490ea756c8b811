import { HeddleError } from "@heddle/errors";
import type { Engine } from "../engine/engine.js";
import { StatementError } from "../engine/statement-error.js";
import { seedClock } from "../version-clock.js";
import { closeHalves } from "./delete-calls.js";
import { loadState } from "./load-state.js";
import { repair } from "./repair.js";
import type { IngestContext } from "./write-calls.js";

const repairReachUs = 600_000_000n;

/**
 * Makes memory and database agree again: at start, after the engine came back, and after an insert of unknown
 * outcome. Nothing else is written before it has succeeded.
 */
export async function recover(context: IngestContext): Promise<void> {
  const { engine, clock, state } = context;
  // Cleared first: the engine may restart once more while this runs.
  state.suspect = false;
  try {
    await writesToEnd(engine);
    await seedClock(engine, clock);
    // Back from the newest row, not from now: the crash may be long ago.
    const since = clock.last() > repairReachUs ? clock.last() - repairReachUs : 0n;
    const leftovers = await loadState(context);
    await closeHalves(context, leftovers.deleted);
    await repair(context, since, leftovers.pairs);
  } catch (error) {
    state.suspect = true;
    throw error;
  }
  state.endClosing();
}

const runningInserts =
  "current_database = currentDatabase() AND query_kind = 'Insert' AND query LIKE 'INSERT INTO call%'";

/** An insert whose answer was lost may still be running, and would be stored behind our back. */
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
