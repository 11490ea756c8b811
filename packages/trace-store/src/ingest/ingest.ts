import { mainThread, withTimeout } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { CallPart } from "@heddle/trace-model";
import type { StoreContext } from "../context.js";
import { tryLater } from "../try-later.js";
import { commitParts } from "./commit/commit-parts.js";
import type { WriteRequest } from "./commit/commit-parts.js";
import { deleteCalls } from "./commit/delete-calls.js";
import { commitRows, groupCommits } from "./commit/group-commits.js";
import type { InFlight } from "../stored-calls/in-flight.js";
import type { EndSide, StartSide } from "../stored-calls/call-sides.js";
import { scheduleMaintenance } from "./upkeep/maintenance.js";
import { checkPendingNames } from "./commit/pending-names.js";
import { preparePart } from "./commit/prepare.js";
import type { PreparedPart, RejectedPart } from "./commit/prepare.js";
import { tableFacts } from "../schema/schema.js";
import type { StoredPart } from "../engine/stored-parts.js";
import { deleteProject } from "./upkeep/delete-project.js";
import { leaveConsistent, recover } from "./upkeep/recover.js";
import { nameRowColumns, nameRow } from "../stored-calls/rows.js";
import { storeRetention } from "./commit/retention.js";
import { readRetention, retentionUsOf } from "../visibility/retention.js";
import { IngestState, defaultLimits } from "./memory/state.js";
import type { IngestLimits, IngestMemory } from "./memory/state.js";
import { insertTrusted } from "./commit/write-calls.js";
import type { NameChange } from "./commit/write-calls.js";
import type { IngestContext } from "./context.js";

/**
 * A request that waits longer is `busy`: its outcome is then unknown, and sending it again is harmless. Commits take
 * milliseconds; only an engine that is down or overloaded takes this long.
 */
const timeoutMs = 10_000;
const tooLong = () => new HeddleError("busy", "The trace engine takes too long");
/** A check that waits longer in the queue rejects with the last failure. */
const checkMs = 1500;
/** A call that never exists. */
const probeCall = { project_id: "heddle/system-check", id: "write" };

/** What waits for the next commit. `rows` are the parts and names of the requests. */
export interface WaitingWrites {
  requests: number;
  rows: number;
  bytes: number;
}

/** A commit that has ended. */
export interface ObservedCommit extends WaitingWrites {
  ms: number;
  failed: boolean;
}

/** Parts that wait to be written, and those that cannot be. */
export interface PreparedWrite {
  parts: PreparedPart[];
  rejected: RejectedPart[];
}

/** Everything that changes calls. All of it rejects with `busy` while the engine cannot respond. */
export interface Ingest {
  /**
   * Stores parts and resolves when they are on disk and readable, with those that could not be stored. Parts may come
   * in any order, repeatedly, and in different requests: the call is there once. Later parts of a request win.
   */
  write(parts: readonly CallPart[]): Promise<RejectedPart[]>;
  /**
   * The first step of {@link write}: checks the parts and encodes them. The parts are not referenced afterwards, so that
   * they need not outlive the wait for a commit.
   */
  prepare(parts: readonly CallPart[]): Promise<PreparedWrite>;
  /** The second step. */
  writePrepared(prepared: PreparedWrite): Promise<RejectedPart[]>;
  /**
   * Yields to the event loop and resolves when no commit is being sent. For callers that prepare parts: the socket to
   * the engine takes 200 KB at a time, and the engine idles until it has all.
   */
  yieldToCommits(): Promise<void>;
  /**
   * Sets the name shown for a call, "" clears it. The name of a call that is not stored waits for it; `rate_limited` when
   * too many of the project do.
   */
  rename: (projectId: string, id: string, displayName: string) => Promise<void>;
  /** Deletes calls with all their descendants; counts the ids and the descendants found. */
  delete: (projectId: string, ids: readonly string[], user: string) => Promise<{ num_deleted: number }>;
  /**
   * Sets for how many days a project keeps its calls; null keeps them indefinitely. Reads apply it at once. What has
   * expired before stays deleted.
   */
  setRetention: (projectId: string, days: number | null, user: string) => Promise<void>;
  /** Deletes all rows of a project in which nobody writes any more. May be repeated after a failure. */
  deleteProject: (projectId: string) => Promise<void>;
  inFlight: InFlight;
  /** What waits for a commit. */
  waiting(): WaitingWrites;
  /** About the bytes of memory that what it remembers takes. */
  memory(): IngestMemory;
  /** Rejects when writes do not work. It costs a write of its own, but only after one has failed. */
  check(): Promise<void>;
  /** The engine is a new process: what it did last is unknown. */
  engineRestarted(): void;
  /** Does now what is otherwise done between commits, as far as it is due; all of it with `force`. */
  maintain(force?: boolean): Promise<void>;
  /** Parts of tables are missing: makes those again that can be made, and returns those that are lost. */
  rebuild(missing: readonly StoredPart[]): Promise<StoredPart[]>;
  /** Commits what waits and stops. */
  close(): Promise<void>;
  /** After that: leaves the next start little to look at. Never rejects. */
  leaveConsistent(): Promise<void>;
}

/** Opens the committer of a tracing database and repairs what a crash may have left. */
export async function openIngest(
  store: Pick<StoreContext, "engine" | "clock" | "now" | "openWrites" | "changes" | "closing"> &
    Pick<IngestContext, "writer">,
  limits: Partial<IngestLimits> = {},
  {
    onLoss,
    onProgress,
    onCommit,
  }: Pick<IngestContext, "onLoss" | "onProgress"> & { onCommit?: (commit: ObservedCommit) => void } = {},
): Promise<Ingest> {
  const state = new IngestState({ ...defaultLimits, ...limits });
  const context: IngestContext = { ...store, state, onLoss, onProgress };
  const queue = groupCommits<WriteRequest>(commit);
  /** Why the last write failed. */
  let failure: { error: unknown } | undefined;
  let checking: Promise<void> | undefined;
  await recover(context);
  const maintenance = scheduleMaintenance(context, queue, ready);

  async function yieldToCommits(): Promise<void> {
    await mainThread.giveWay();
    await store.engine.sent();
  }

  /** Changes of unknown outcome: a recovery finds out. */
  const unknown: Array<() => void> = [];

  async function ready(): Promise<void> {
    const isUnknown = state.needsRecovery;
    if (isUnknown) await recover(context);
    for (const end of unknown.splice(0)) end();
    if (isUnknown) store.changes.forget();
  }

  /** Who follows the changes waits for what is unknown, also where nothing is written. */
  function recoverSoon(): void {
    tryLater(async () => {
      if (unknown.length > 0) await queue.runExclusive(ready);
    }, store.closing);
  }

  /** Makes changes, which are under way until their outcome is known. */
  async function changing<T>(work: () => Promise<T>): Promise<T> {
    const end = store.openWrites.begin();
    try {
      return await work();
    } finally {
      if (state.needsRecovery) {
        unknown.push(end);
        recoverSoon();
      } else end();
    }
  }

  async function tryWriting(): Promise<void> {
    await ready();
    await insertTrusted(store.engine, "call_names", nameRowColumns, [nameRow(probeCall, "", store.clock.next())]);
    failure = undefined;
  }

  async function commit(requests: WriteRequest[]): Promise<void> {
    const began = performance.now();
    const succeeded = await tryCommit(requests);
    if (succeeded === undefined || onCommit === undefined) return;
    const bytes = requests.reduce((sum, request) => sum + request.bytes, 0);
    const rows = requests.reduce((sum, request) => sum + request.rows, 0);
    onCommit({ requests: requests.length, rows, bytes, ms: performance.now() - began, failed: !succeeded });
  }

  /** Whether the commit succeeded; undefined when it was made in parts. */
  async function tryCommit(requests: WriteRequest[]): Promise<boolean | undefined> {
    try {
      await ready();
      await changing(() => commitParts(context, requests));
      failure = undefined;
      return true;
    } catch (error) {
      // Only the request that concerns what cannot be read fails for it.
      if (requests.length > 1 && isCorrupt(error)) {
        for (const request of requests) await commit([request]);
        return undefined;
      }
      failure = { error };
      for (const { reject } of requests) reject(error);
      return false;
    }
  }

  async function prepare(parts: readonly CallPart[]): Promise<PreparedWrite> {
    const prepared: PreparedPart[] = [];
    const rejected: RejectedPart[] = [];
    let since = performance.now();
    for (const [index, part] of parts.entries()) {
      if (index % partsPerClockCheck === 0 && performance.now() - since > sliceMs) {
        await yieldToCommits();
        since = performance.now();
      }
      const preparing = preparePart(part, index);
      const result = preparing instanceof Promise ? await preparing : preparing;
      if ("key" in result) prepared.push(result);
      else rejected.push(result);
    }
    return { parts: prepared, rejected };
  }

  async function writePrepared({ parts, rejected }: PreparedWrite): Promise<RejectedPart[]> {
    return parts.length === 0 ? rejected : rejected.concat(await submitAll(parts));
  }

  /** The parts of a large request are in several commits, one after another: those of others come in between. */
  async function submitAll(parts: readonly PreparedPart[]): Promise<RejectedPart[]> {
    if (parts.length <= commitRows) return await submit(parts, []);
    const rejected: RejectedPart[] = [];
    for (let from = 0; from < parts.length; from += commitRows) {
      rejected.push(...(await submit(parts.slice(from, from + commitRows), [])));
    }
    return rejected;
  }

  async function submit(parts: readonly PreparedPart[], names: readonly NameChange[]): Promise<RejectedPart[]> {
    const committed = new Promise<RejectedPart[]>((resolve, reject) => {
      const bytes = parts.reduce((sum, { start, end }) => sum + bytesOf(start) + bytesOf(end), 0);
      const rows = parts.length + names.length;
      if (!queue.add({ parts, names, rows, bytes, resolve, reject })) {
        reject(new HeddleError("busy", "Too many writes wait for the trace engine"));
      }
    });
    try {
      return await withTimeout(committed, timeoutMs, tooLong);
    } catch (error) {
      failure = { error };
      throw error;
    }
  }

  /** The timeout covers the wait in the queue: how long the work takes depends on how much it changes. */
  async function betweenCommits<T>(work: () => Promise<T>): Promise<T> {
    let start = () => {};
    const started = new Promise<void>((resolve) => (start = resolve));
    const done = queue.runExclusive(async () => {
      start();
      await ready();
      return await changing(work);
    });
    await withTimeout(Promise.race([started, done]), timeoutMs, tooLong);
    return await done;
  }

  return {
    yieldToCommits,
    write: async (parts) => await writePrepared(await prepare(parts)),
    prepare,
    writePrepared,
    async rename(projectId, id, displayName) {
      const call = { project_id: projectId, id };
      await checkPendingNames(context, call);
      await submit([], [{ project_id: projectId, id, display_name: displayName }]);
    },
    delete: async (projectId, ids, user) => await betweenCommits(() => deleteCalls(context, projectId, ids, user)),
    async setRetention(projectId, days, user) {
      const old = await readRetention(context.engine, state, projectId);
      const wanted = retentionUsOf(days);
      if (old !== undefined && (wanted === undefined || wanted > old)) await maintenance.purge(projectId);
      await betweenCommits(() => storeRetention(context, projectId, days, user));
    },
    deleteProject: async (projectId) => await deleteProject(context, projectId, betweenCommits),
    inFlight: state,
    waiting: () => queue.waiting(),
    memory: () => state.memory(),
    async check() {
      if (failure === undefined) return;
      const { error } = failure;
      checking ??= queue.runExclusive(tryWriting).finally(() => (checking = undefined));
      await withTimeout(checking, checkMs, () => error as Error);
    },
    engineRestarted() {
      state.needsRecovery = true;
    },
    maintain: (force) => maintenance.run(force),
    async rebuild(missing) {
      if (missing.some(({ table }) => table === "call_ids")) await maintenance.refillIds();
      return missing.filter(({ table }) => !derived.has(table));
    },
    async close() {
      await maintenance.stop();
      await queue.close();
      state.newestCalls.end();
    },
    leaveConsistent: async () => await leaveConsistent(context).catch(() => {}),
  };
}

const derived = new Set<string>(tableFacts.flatMap(([table, facts]) => (facts.derived === true ? [table] : [])));

const isCorrupt = (error: unknown): boolean => error instanceof HeddleError && error.code === "corrupt";

/** Parts are prepared this long before others get to run. */
const sliceMs = 2;
/** The clock is read once per this many parts. */
const partsPerClockCheck = 16;

/** About the bytes of a side in the insert. */
function bytesOf(side: StartSide | EndSide | undefined): number {
  return side === undefined ? 0 : side.fields.length + 100;
}
