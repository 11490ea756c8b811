import { HeddleError } from "@heddle/errors";
import type { Engine } from "../engine/engine.js";
import type { WriteRequest } from "./commit-parts.js";
import { compactHidden, forgetCompacted } from "./compact.js";
import { findDamage } from "./find-damage.js";
import type { CommitQueue } from "./group-commits.js";
import { mend } from "./repair.js";
import type { IngestContext } from "./write-calls.js";
import { newestRows } from "../schema/read-table.js";
import { tableFacts } from "../schema/schema.js";

const minuteMs = 60_000;
/** Compaction costs about a second per million calls; hidden rows cost every read of their project. */
const compactRows = 500;
const compactAgeSeconds = 300;
/** Closed halves slow down the reading of running calls until they are cleaned away. */
const cleanUpSides = 20_000;

export interface Maintenance {
  /** Does now what is done once a minute; `force` leaves nothing for later. */
  run(force?: boolean): Promise<void>;
  /** Breaks off what runs, which is then done another time, and resolves when it has ended. */
  stop(): Promise<void>;
}

/**
 * Mending, compaction, clean-up. What takes long runs beside the commits, which would otherwise have to wait for
 * seconds; only what it finds, and what readers are told of it, has its turn between two of them. A failure is left to
 * the next time.
 */
export function scheduleMaintenance(
  store: IngestContext,
  queue: CommitQueue<WriteRequest>,
  ready: () => Promise<void>,
): Maintenance {
  const { clock, state } = store;
  const stopping = new AbortController();
  const context = { ...store, engine: untilAborted(store.engine, stopping.signal) };
  let mendedUpTo = clock.last();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  /** Everything up to this version is stored: no commit is under way when it is asked for. */
  const settledUpTo = () =>
    queue.alone(async () => {
      await ready();
      return clock.last();
    });

  async function run(force: boolean): Promise<void> {
    const upTo = await settledUpTo();
    if (upTo > mendedUpTo) {
      const damage = await findDamage(context, mendedUpTo);
      if (damage.open.length > 0 || damage.doubled.length > 0) {
        await queue.alone(async () => {
          await ready();
          await mend(context, damage);
        });
      }
      mendedUpTo = upTo;
    }
    if (force || (await compactionDue(context))) {
      await compactHidden(context, await settledUpTo());
      await queue.alone(async () => {
        await ready();
        await forgetCompacted(context);
      });
    }
    if (force || state.closedHalves >= cleanUpSides) await cleanUpHalves(context);
  }

  /** One after the other. */
  function next(work: () => Promise<void>): Promise<void> {
    stopping.signal.throwIfAborted();
    const result = running.then(work);
    running = result.catch(() => {});
    return result;
  }

  function schedule(delay: number): void {
    if (stopping.signal.aborted) return;
    timer = setTimeout(() => {
      const start = performance.now();
      const again = () => {
        // Never more than a fiftieth of the time, however large the store has become.
        schedule(Math.max(minuteMs, 50 * (performance.now() - start)));
      };
      next(() => run(false)).then(again, again);
    }, delay);
    timer.unref();
  }

  schedule(minuteMs);
  // What an earlier life left only makes reading slower.
  next(() => cleanUpHalves(context)).catch(() => {});
  return {
    run: async (force = false) => await next(() => run(force)),
    async stop() {
      clearTimeout(timer);
      stopping.abort(new HeddleError("busy", "The store is closing"));
      await running;
    },
  };
}

function untilAborted(engine: Engine, signal: AbortSignal): Engine {
  return {
    ...engine,
    rows: (statement, options) => engine.rows(statement, { ...options, signal }),
    command: (statement, options) => engine.command(statement, { ...options, signal }),
  };
}

/** Merges away closed halves, and whatever else the schema wants dropped that an ordinary merge keeps. */
async function cleanUpHalves({ engine, state }: IngestContext): Promise<void> {
  const closed = state.closedHalves;
  for (const [table, { cleanedUp }] of tableFacts) {
    if (cleanedUp === true) await engine.command({ sql: `OPTIMIZE TABLE ${table} FINAL CLEANUP` });
  }
  state.closedHalves -= closed;
}

async function compactionDue({ engine, state }: IngestContext): Promise<boolean> {
  if (state.projectsWithHidden.size === 0) return false;
  const [pending] = await engine.rows<{ rows: string; age: string }>({
    sql: `SELECT count() AS rows, dateDiff('second', min(hidden_at), now64(3)) AS age FROM ${newestRows("call_hidden")} WHERE compacted_at IS NULL`,
  });
  const rows = Number(pending?.rows ?? 0);
  return rows === 0 || rows >= compactRows || Number(pending?.age) >= compactAgeSeconds;
}
