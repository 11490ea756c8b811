import { setTimeout as delay } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import type { ShareLoad } from "@heddle/concurrency";
import type { CallPart } from "@heddle/trace-model";
import { openCallPages } from "./call-pages/call-pages.js";
import type { CallPages } from "./call-pages/call-pages.js";
import { openCallTails } from "./call-tails/call-tails.js";
import type { CallTails } from "./call-tails/call-tails.js";
import { changeHub } from "./changes/change-hub.js";
import { openProjectEvents } from "./project-events/project-events.js";
import type { ProjectEvents } from "./project-events/project-events.js";
import { scopeOf } from "./call-reading/selection.js";
import { openAggregates } from "./aggregates/aggregates.js";
import type { Aggregates } from "./aggregates/aggregates.js";
import { callReads } from "./calls/calls.js";
import type { CallReads } from "./calls/calls.js";
import type { ReadOptions } from "./context.js";
import { brokenParts } from "./engine/broken-parts.js";
import type { BrokenParts } from "./engine/broken-parts.js";
import { shareEngine } from "./engine/engine-shares.js";
import type { EngineShares, SlotPool } from "./engine/engine-shares.js";
import { connectEngine } from "./engine/engine.js";
import { checkResponds } from "./engine/responds.js";
import { checkOneNode } from "./engine/one-node.js";
import type { Engine, EngineConnection } from "./engine/engine.js";
import { hasOlderParts, withOlderParts } from "./engine/older-parts.js";
import { observeStatements } from "./engine/observed-engine.js";
import type { ObservedStatement } from "./engine/observed-engine.js";
import { noticeFenced } from "./engine/fenced-inserts.js";
import { withReplicas } from "./engine/replicated-engine.js";
import { StatementError } from "./engine/statement-error.js";
import { listDetached, listParts } from "./engine/stored-parts.js";
import type { StoredPart } from "./engine/stored-parts.js";
import { guardObjects, guardWrites } from "./guard-writes.js";
import { guardReads } from "./visibility/guard-reads.js";
import { endEncoding } from "./encoding/large-values.js";
import { openIngest } from "./ingest/ingest.js";
import { writerName } from "./ingest/writer-name.js";
import type { Ingest, ObservedCommit, PreparedWrite, WaitingWrites } from "./ingest/ingest.js";
import type { RejectedPart } from "./ingest/commit/prepare.js";
import type { IngestLimits, IngestMemory } from "./ingest/memory/state.js";
import { claimDatabase } from "./migrations/identity.js";
import { catchUpWithReplicas, migrate } from "./migrations/migrate.js";
import { fenceDeletions } from "./migrations/fence-deletions.js";
import { epochName, fenceFormerWriters, keepEpochs, storedEpoch } from "./migrations/writer-fence.js";
import type { WriterEpochs } from "./migrations/writer-fence.js";
import { defaultDatabase, tableFacts } from "./schema/schema.js";
import { openWrites } from "./open-writes.js";
import { versionClock } from "./version-clock.js";
import { openCosts } from "./costs/costs.js";
import type { Costs } from "./costs/costs.js";
import type { Price } from "./costs/price.js";
import { openEvaluations } from "./evaluations/evaluations.js";
import type { Evaluations } from "./evaluations/evaluations.js";
import { openFeedback } from "./feedback/feedback.js";
import type { Feedback } from "./feedback/feedback.js";
import { projectCalls } from "./project-stats/project-calls.js";
import type { ProjectCalls } from "./project-stats/project-calls.js";
import { projectStats } from "./project-stats/project-stats.js";
import type { ProjectStats, ProjectStatsRequest } from "./project-stats/project-stats.js";
import { openRetention } from "./retention/retention.js";
import type { Retention } from "./retention/retention.js";
import { openFiles } from "./files/files.js";
import type { Files } from "./files/files.js";
import { openObjects } from "./objects/objects.js";
import type { Objects } from "./objects/objects.js";
import { openRefs } from "./refs/refs.js";
import type { Refs } from "./refs/refs.js";
import { openTables } from "./tables/tables.js";
import type { Tables } from "./tables/tables.js";
import { keepIdFilters } from "./migrations/id-filters.js";
import { existingIndexes, keepTextIndex, withTextIndex } from "./migrations/text-index.js";
import type { TextIndex } from "./migrations/text-index.js";
import { openThreads } from "./threads/threads.js";
import type { Threads } from "./threads/threads.js";
import { openTraces } from "./traces/traces.js";
import type { Traces } from "./traces/traces.js";

export interface TraceStoreOptions {
  /** How to reach the engine, as `EngineHost.connection()` gives it. */
  client: EngineConnection;
  /** Default `trace`. */
  database?: string;
  /** Name of a ClickHouse cluster; its tables are then replicated, and `client` is one of its servers. */
  cluster?: string;
  /** The identity of the control plane; the database belongs to the first one that opens it. */
  controlPlaneId: string;
  /** Microseconds since 1970. */
  now?: () => bigint;
  /** Prices of models for projects that have none of their own. */
  prices?: readonly Price[];
  /** How words of calls are found; default `off`. What was stored before is indexed in the background. */
  textIndex?: TextIndex;
  /** What ingest keeps in memory. */
  limits?: Partial<IngestLimits>;
  /**
   * Whether this process is the only one that writes, called at every write; while it is false, writes are `busy`. When
   * it is true again, {@link TraceStore.engineRestarted} must have been called before.
   */
  mayWrite?: () => boolean;
  /**
   * Where several processes may want to write, one after the other: gives each a number. What those before send late is then
   * refused by the engine. Default: no other process ever writes.
   */
  epochs?: WriterEpochs;
  /** Called with the number of rows that the engine has refused because another process has taken the database over. */
  onFenced?: (rows: number) => void;
  /** Called with one sentence for stored data that is given up because it cannot be read. */
  onLoss?: (lost: string) => void;
  /** Called with one sentence about work on a large store that takes long. */
  onProgress?: (progress: string) => void;
  /** How keys share the engine. */
  shares?: EngineShares;
  /** Called when statements and commits have ended; must not throw. */
  observer?: StoreObserver;
  /** Wraps the engine, for tests. */
  wrapEngine?: (engine: Engine) => Engine;
}

export interface StoreObserver {
  onStatement(statement: ObservedStatement): void;
  /** Commits of calls. */
  onCommit(commit: ObservedCommit): void;
}

/** How busy the store is at the moment. */
export interface StoreLoad {
  /** Calls that wait for a commit. */
  waiting: WaitingWrites;
  /** About the bytes of memory that ingest takes, by what it remembers. */
  memory: IngestMemory;
  /** Statements at once, by the kind of work. */
  slots: Record<SlotPool, ShareLoad>;
}

export interface TraceStore {
  /**
   * Stores call parts and resolves when they are durable and readable, with those that could not be stored.
   * Parts may come in any order and repeatedly; see {@link Ingest.write}.
   */
  ingest(parts: readonly CallPart[]): Promise<RejectedPart[]>;
  /** The two steps of `ingest`; see {@link Ingest.prepare}. */
  prepareIngest(parts: readonly CallPart[]): Promise<PreparedWrite>;
  ingestPrepared(prepared: PreparedWrite): Promise<RejectedPart[]>;
  /** See {@link Ingest.yieldToCommits}; for callers whose work takes milliseconds. */
  yieldToCommits(): Promise<void>;
  calls: Pick<Ingest, "delete" | "rename"> & CallReads;
  callPages: CallPages;
  aggregates: Aggregates;
  traces: Traces;
  callTails: CallTails;
  projectEvents: ProjectEvents;
  threads: Threads;
  evaluations: Evaluations;
  objects: Objects;
  tables: Tables;
  files: Files;
  feedback: Feedback;
  refs: Refs;
  retention: Retention;
  /** Counts and sizes of what a project has. */
  projectStats(request: ProjectStatsRequest, options?: ReadOptions): Promise<ProjectStats>;
  /**
   * Deletes everything of a project, in which nobody may write meanwhile. Afterwards it is as if it had never been; the
   * bytes of files are in the blob store. May be repeated after a failure.
   */
  deleteProject(projectId: string): Promise<void>;
  /** Counts the calls of projects, in the order of the ids. */
  projectCalls(projectIds: readonly string[], options?: ReadOptions): Promise<ProjectCalls[]>;
  costs: Omit<Costs, "book">;
  /** Whether the database belonged to no control plane before: it was created now, or has lost everything. */
  isNew: boolean;
  /** What the engine has on its disk, to compare with what it had; see {@link missingParts}. */
  parts(): Promise<StoredPart[]>;
  /** Makes missing parts again where that is possible, and returns those that are lost. */
  rebuild(missing: readonly StoredPart[]): Promise<StoredPart[]>;
  /** What is left of parts that the engine does not read, by the end of their names. */
  detachedParts(): Promise<Array<{ table: string; name: string }>>;
  /** Tables that miss rows because the engine could not read some of their parts. */
  brokenParts(): Promise<BrokenParts[]>;
  load(): StoreLoad;
  /** The version of the newest change of a project: every one that has been reported as done has one up to here. */
  lastChange(projectId: string): Promise<bigint>;
  /** Rejects, with the reason, while writes do not work. */
  checkWrites(): Promise<void>;
  /** To be called when the engine is a new process, or another process may have written: the next write recovers first. */
  engineRestarted(): void;
  /** Does now what otherwise happens between commits; with `force` also what is not due. */
  maintain(force?: boolean): Promise<void>;
  /**
   * Writes what waits, then disconnects. With `withinMs`, where another process waits for the database, what would only make
   * the next start quicker gets so long.
   */
  close(options?: { withinMs?: number }): Promise<void>;
}

/**
 * Opens the tracing database: creates or upgrades its tables, checks that it belongs to this control plane, and
 * repairs what a crash may have left.
 *
 * Throws `busy` when the engine does not respond, `incompatible` when the database is newer or belongs to another control
 * plane, and `failed` when the engine refuses a statement.
 */
export async function openTraceStore(options: TraceStoreOptions): Promise<TraceStore> {
  return open(options).catch((error: unknown) => {
    if (!(error instanceof StatementError)) throw error;
    throw new HeddleError("failed", "the tracing database cannot be opened", { cause: error });
  });
}

const deduplicated = new Set<string>(tableFacts.flatMap(([table, facts]) => (facts.deduplicates ? [table] : [])));

async function open(options: TraceStoreOptions): Promise<TraceStore> {
  const placement = { database: options.database ?? defaultDatabase, cluster: options.cluster };
  await Promise.all([checkOneNode(options.client, options.cluster), checkResponds(options.client)]);
  const isReplicated = options.cluster !== undefined;
  const replicated = (engine: Engine) => (isReplicated ? withReplicas(engine) : engine);
  const bootstrap = replicated(connectEngine(options.client, "default", { isReplicated }));
  const writer = writerName(options.controlPlaneId, placement.database);
  const { epochs, textIndex = "off" } = options;
  const older = { ...placement, table: "calls", column: "brief" };
  let isOlder: boolean;
  let isNew: boolean;
  let namePrefix = writer;
  let fenced = (engine: Engine) => engine;
  try {
    // The database of another control plane is left as it is.
    isNew = await claimDatabase(bootstrap, placement, options.controlPlaneId);
    // Requests may wait for this.
    const [stored, existing] = await Promise.all([
      epochs && storedEpoch(bootstrap, placement),
      existingIndexes(bootstrap, placement),
      migrate(bootstrap, placement),
    ]);
    await catchUpWithReplicas(bootstrap, placement);
    const [epoch, hasOlder] = await Promise.all([
      epochs && fenceFormerWriters(bootstrap, placement, writer, { epochs, stored: stored ?? 0n }),
      hasOlderParts(bootstrap, older),
      keepTextIndex(bootstrap, placement, { kind: textIndex, existing }).then(
        async () => await keepIdFilters(bootstrap, placement, existing),
      ),
    ]);
    isOlder = hasOlder;
    if (epoch !== undefined) {
      namePrefix = epochName(writer, epoch);
      const { onFenced = () => {} } = options;
      fenced = (engine) => noticeFenced(fenceDeletions(engine, placement, epoch), onFenced);
    }
  } finally {
    await bootstrap.close();
  }
  const { mayWrite = () => true, observer } = options;
  const connected = withTextIndex(
    fenced(
      connectEngine(options.client, placement.database, {
        namePrefix,
        isReplicated,
        deduplicated,
        mayRepeat: mayWrite,
      }),
    ),
    textIndex,
  );
  const observed =
    observer === undefined ? connected : observeStatements(connected, (statement) => observer.onStatement(statement));
  const wrapped = options.wrapEngine?.(observed) ?? replicated(observed);
  const guarded = guardWrites(wrapped, mayWrite);
  const engine = isOlder ? withOlderParts(guarded) : guarded;
  const now = options.now ?? (() => BigInt(Date.now()) * 1000n);
  const clock = versionClock(now);
  const shared = shareEngine(engine, options.shares);
  const { reads, lookups, writes, commits, tails } = shared.engines;
  const writing = openWrites(clock, () => changes.notice());
  const settled = () => writing.settled();
  const changes = changeHub(settled, () => clock.last());
  const closing = new AbortController();
  const context = { engine: reads, writes, commits, clock, now, openWrites: writing, changes, closing: closing.signal };
  const ingest = await openIngest({ ...context, engine, writer }, options.limits, {
    onLoss: options.onLoss,
    onProgress: options.onProgress,
    ...(observer && { onCommit: (commit) => observer.onCommit(commit) }),
  }).catch(async (error: unknown) => {
    await connected.close();
    throw error;
  });
  const inFlight = guardReads(ingest.inFlight, mayWrite);
  const { prices = [] } = options;
  const objects = guardObjects(openObjects(context, mayWrite), mayWrite);
  const reading = {
    ...context,
    lookups,
    inFlight,
    refs: openRefs({ ...context, engine: lookups }),
    costs: openCosts({ ...context, engine: lookups }, prices),
  };
  const calls = callReads(reading);
  const greatest = () => (now() > clock.last() ? now() : clock.last());
  const marks = epochs && keepEpochs(engine, placement, { epochs, lastChange: () => clock.last() });
  const callTails = openCallTails({ ...reading, engine: tails, lookups: tails, hub: changes, mayWrite, greatest });
  return {
    ingest: (parts) => ingest.write(parts),
    prepareIngest: (parts) => ingest.prepare(parts),
    ingestPrepared: (prepared) => ingest.writePrepared(prepared),
    yieldToCommits: () => ingest.yieldToCommits(),
    calls: { ...calls, delete: ingest.delete, rename: ingest.rename },
    callPages: openCallPages({ ...reading, count: (request, options) => calls.count(request, options), settled }),
    callTails,
    projectEvents: openProjectEvents({ engine: tails, scope: (projectId) => scopeOf(reading, projectId)(), settled }),
    aggregates: openAggregates({ ...reading, count: (request, options) => calls.count(request, options), settled }),
    traces: openTraces({ ...reading, settled }),
    threads: openThreads({ ...context, inFlight }),
    evaluations: openEvaluations({ ...context, inFlight, costs: openCosts({ ...context, engine: lookups }, prices) }),
    objects,
    tables: openTables(context),
    files: openFiles(context),
    feedback: openFeedback(context),
    refs: openRefs(context),
    retention: openRetention(context, ingest),
    projectStats: (request, options) => projectStats({ ...context, inFlight }, request, options?.signal),
    async deleteProject(projectId) {
      await ingest.deleteProject(projectId);
      objects.forget();
    },
    projectCalls: (projectIds, options) => projectCalls({ ...context, inFlight }, projectIds, options),
    costs: openCosts(context, prices),
    isNew,
    parts: () => listParts(engine),
    rebuild: (missing) => ingest.rebuild(missing),
    detachedParts: () => listDetached(engine),
    brokenParts: () => brokenParts(engine),
    load: () => ({ waiting: ingest.waiting(), memory: ingest.memory(), slots: shared.load() }),
    lastChange: async () => clock.last(),
    checkWrites: () => ingest.check(),
    engineRestarted() {
      ingest.engineRestarted();
      objects.forget();
    },
    maintain: (force) => ingest.maintain(force),
    async close({ withinMs } = {}) {
      closing.abort();
      callTails.endTails();
      await ingest.close();
      const leaving = Promise.all([ingest.leaveConsistent(), marks?.stop()]);
      await (withinMs === undefined ? leaving : Promise.race([leaving, delay(withinMs)]));
      await endEncoding();
      await connected.close();
    },
  };
}
