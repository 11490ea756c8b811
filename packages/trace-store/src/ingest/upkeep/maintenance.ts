import { mutex } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { Engine, StatementOptions } from "../../engine/engine.js";
import type { WriteRequest } from "../commit/commit-parts.js";
import { compactHidden } from "./compact.js";
import { findExpired, purgeExpired } from "./purge-expired.js";
import { readRetention, retentionSettings } from "../../visibility/retention.js";
import type { RetentionLimits } from "./purge-expired.js";
import { findInconsistencies } from "./find-inconsistencies.js";
import type { CommitQueue } from "../commit/group-commits.js";
import { dropPendingNames } from "../commit/pending-names.js";
import { fillIds, indexCalls } from "./fill-ids.js";
import { raiseWatermark } from "./recover.js";
import { repair } from "./repair.js";
import { noWatermarks } from "../memory/watermarks.js";
import { versionSpans } from "./version-spans.js";
import { storeWatermarks } from "./watermarks.js";
import type { IngestContext } from "../context.js";
import { newestRows } from "../../schema/read-table.js";
import { tableFacts } from "../../schema/schema.js";

const minuteMs = 60_000;
/** Deleting what has expired rewrites whole parts: once a day, of a project that goes on. */
const purgeDelayUs = 86_400_000_000n;
/** Looking for the calls of names reads the ids of whole projects. */
const dropNamesUs = 3_600_000_000n;
/** Closed sides slow down the reading of running calls until they are cleaned away. */
const closedSidesBeforeCleanUp = 20_000;

export interface Maintenance {
  /** Fills `call_ids` anew, in the background. */
  refillIds(): Promise<void>;
  /** Does now what is done once a minute; `force` leaves nothing for later. */
  run(force?: boolean): Promise<void>;
  /** Deletes what has expired in a project, if anything has. */
  purge(projectId: string): Promise<void>;
  /** Aborts what runs, which is then left to another time, and resolves when it has ended. */
  stop(): Promise<void>;
}

/**
 * Repair, retention, compaction, clean-up. What takes long runs concurrently with commits, which would otherwise wait for seconds;
 * only the repair itself, and the update of what readers know, run between two commits. A failure is retried the next
 * time.
 */
export function scheduleMaintenance(
  store: IngestContext,
  queue: CommitQueue<WriteRequest>,
  ready: () => Promise<void>,
): Maintenance {
  const { clock, state } = store;
  const stopping = new AbortController();
  const context = { ...store, engine: upkeepEngine(store.engine, stopping.signal) };
  let timer: NodeJS.Timeout | undefined;
  const runExclusive = mutex();

  const betweenCommits = <T>(work: () => T | Promise<T>): Promise<T> =>
    queue.runExclusive(async () => {
      await ready();
      return await work();
    });
  /** Everything up to this version is stored: no commit is under way when it is asked for. */
  const committedUpTo = () => betweenCommits(() => clock.last());

  async function run(force: boolean): Promise<void> {
    await repairRecent();
    await purgeAll(force ? 0n : purgeDelayUs);
    // It costs about 0.3 s of the processor; hidden rows cost every read of their project.
    if (force || state.hiddenCalls.any) {
      await compactHidden(context, await committedUpTo());
      await betweenCommits(() => state.hiddenCalls.load(context.engine, state.watermarks.compacted));
    }
    await dropNames(force);
    if (force || state.closedSides >= closedSidesBeforeCleanUp) await cleanUpClosedSides(context);
  }

  /** Repairs what was written since the last time, and stores how far everything is consistent. */
  async function repairRecent(): Promise<void> {
    const upTo = await committedUpTo();
    await fillIds(context, upTo);
    await indexCalls(context, upTo);
    for (const span of await versionSpans(context.engine, state.repairedUpTo, upTo)) {
      const found = await findInconsistencies(context, span);
      if (found.open.length > 0 || found.doubled.length > 0) await betweenCommits(() => repair(context, found));
      state.repairedUpTo = span.upTo;
    }
    await raiseWatermark(context);
  }

  /** What an earlier life left, which so far only makes reading slower. */
  async function catchUp(): Promise<void> {
    if (!state.hasAllIds() || state.repairedUpTo < clock.last()) await repairRecent();
    else await indexCalls(context, await committedUpTo());
    await cleanUpClosedSides(context);
  }

  /** Each time those that were given since the last time and have waited long enough; the rest have their calls. */
  async function dropNames(force: boolean): Promise<void> {
    const before = context.now() - state.limits.pendingNameUs;
    if (before < 0n || (!force && before < state.watermarks.named + dropNamesUs)) return;
    if (state.named.any) {
      await dropPendingNames(context, state.watermarks.named, before);
      await betweenCommits(() => state.named.load(context.engine));
      await storeWatermarks(context, { named: before });
    }
  }

  async function purgeAll(delayUs: bigint): Promise<void> {
    if (!state.retention.any) return;
    for await (const some of retentionSettings(context.engine)) await purge(await findExpired(context, some, delayUs));
  }

  async function purge(limits: RetentionLimits): Promise<void> {
    await purgeExpired(context, limits, betweenCommits);
  }

  /** One after the other. */
  function next(work: () => Promise<void>): Promise<void> {
    stopping.signal.throwIfAborted();
    return runExclusive(work);
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
  next(catchUp).catch(() => {});
  return {
    run: async (force = false) => await next(() => run(force)),
    async purge(projectId) {
      const limit = await readRetention(context.engine, state, projectId);
      if (limit === undefined) return;
      await next(async () => purge(await findExpired(context, new Map([[projectId, limit]]), 0n)));
    },
    async refillIds() {
      await betweenCommits(() => storeWatermarks(store, { idsFrom: noWatermarks.idsFrom }));
      next(async () => fillIds(context, await committedUpTo())).catch(() => {});
    },
    async stop() {
      clearTimeout(timer);
      stopping.abort(new HeddleError("busy", "The store is closing"));
      await runExclusive(async () => {});
    },
  };
}

/**
 * Runs statements one after another on one thread each, so that upkeep never takes more than one core from reads and writes;
 * mutations, which they wait for, and merges yield to them. All stop with the signal.
 */
function upkeepEngine(engine: Engine, signal: AbortSignal): Engine {
  const upkeep = (options: StatementOptions | undefined): StatementOptions => ({
    ...options,
    settings: { max_threads: 1, ...options?.settings },
    signal,
  });
  return {
    ...engine,
    rows: (statement, options) => engine.rows(statement, upkeep(options)),
    stream: (statement, options) => engine.stream(statement, upkeep(options)),
    command: (statement, options) => engine.command(statement, upkeep(options)),
  };
}

/** Drops closed sides, and the removed rows of other tables whose facts say so. When few are open after that, memory loads them. */
async function cleanUpClosedSides({ engine, state }: IngestContext): Promise<void> {
  const closed = state.closedSides;
  for (const [table, { cleanedUp }] of tableFacts) {
    if (cleanedUp === true) await engine.command({ sql: `OPTIMIZE TABLE ${table} FINAL CLEANUP` });
  }
  state.closedSides -= closed;
  if (!state.openSides.tooMany) return;
  const sql = `SELECT count() AS open FROM ${newestRows("call_parts")} WHERE closed = 0`;
  const [row] = await engine.rows<{ open: string }>({ sql });
  if (Number(row?.open) < state.openSides.capacity / 2) state.needsRecovery = true;
}
