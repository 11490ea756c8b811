import { limits } from "@heddle/spec/tracing-limits";
import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import { OpenSideCache } from "./open-side-cache.js";
import { OpenSides } from "./open-sides.js";
import { HiddenCalls } from "./hidden-calls.js";
import type { HiddenCall } from "../../stored-calls/hidden-call.js";
import type { KeptCall, NewestOfProject, ReadBack } from "../../stored-calls/kept-call.js";
import type { StartSide } from "../../stored-calls/call-sides.js";
import type { OpenSide } from "../../stored-calls/call-sides.js";
import type { EndWatch, InFlight, RetentionUs, WhichCalls } from "../../stored-calls/in-flight.js";
import { DeletedCalls } from "./deleted-calls.js";
import { KnownCalls } from "./known-calls.js";
import { KnownRetention } from "./known-retention.js";
import { NamedProjects } from "./named-projects.js";
import { NewestCalls } from "./newest-calls.js";
import { allIds, noWatermarks } from "./watermarks.js";
import type { Watermarks } from "./watermarks.js";
import { UsageTrees } from "./usage-trees.js";
import { endOfTime } from "./times.js";

/** How much ingest keeps. */
export interface IngestLimits {
  /** Bytes of the complete calls remembered by key, 26 to 52 each. What is forgotten is looked up. */
  knownCallBytes: number;
  /** Bytes of the newest complete calls kept whole. Others are read. */
  newestCallBytes: number;
  /** Bytes of the calls with open sides remembered by key, about 50 to 100 each. When there are more, all are looked up. */
  openCallBytes: number;
  /** Bytes of open sides kept with their payloads. */
  openSideCacheBytes: number;
  /** Bytes of deleted calls remembered by id. Others are looked up. */
  deletedCallBytes: number;
  /** Bytes of calls that are hidden and not compacted. Beyond, readers ask the table. */
  hiddenCallBytes: number;
  /** Bytes of the projects that have names. Beyond, readers look for names in every project. */
  namedProjectBytes: number;
  /** Bytes of the projects that keep their calls for a limited time. Beyond, readers ask the table. */
  retentionBytes: number;
  /** Bytes of the calls remembered to tell apart what they and the calls below them used, about 400 each. Others are read. */
  usageBytes: number;
  /** How far back `known` reaches at start. */
  horizonUs: bigint;
  /** Names of one project that wait for their calls. */
  pendingNames: number;
  /** For how long they wait. */
  pendingNameUs: bigint;
}

const megabyte = 1024 * 1024;

export const defaultLimits: IngestLimits = {
  knownCallBytes: 72 * megabyte,
  newestCallBytes: 32 * megabyte,
  openCallBytes: 112 * megabyte,
  openSideCacheBytes: 64 * megabyte,
  deletedCallBytes: 32 * megabyte,
  hiddenCallBytes: 16 * megabyte,
  namedProjectBytes: 4 * megabyte,
  retentionBytes: 4 * megabyte,
  usageBytes: 40 * megabyte,
  horizonUs: 600_000_000n,
  pendingNames: limits.CallUpdateReq.pending_names,
  pendingNameUs: BigInt(limits.CallUpdateReq.pending_name_hours) * 3_600_000_000n,
};

/** What takes memory, by the names of the metric. */
export type IngestMemory = Record<
  | "known_calls"
  | "newest_calls"
  | "open_calls"
  | "open_payloads"
  | "deleted_calls"
  | "hidden_calls"
  | "named_projects"
  | "retention"
  | "call_usage",
  number
>;

/** What ingest remembers of the database. It changes only after a commit succeeded, and is reloaded after one of unknown outcome. */
export class IngestState implements InFlight {
  known: KnownCalls;
  newestCalls: NewestCalls;
  readonly openSides: OpenSides;
  readonly deleted: DeletedCalls;
  readonly cache: OpenSideCache;
  usage: UsageTrees;
  /** An insert has an unknown outcome: nothing is written before a recovery. */
  needsRecovery = false;
  /** Since the last clean-up of `call_parts`. */
  closedSides = 0;
  readonly hiddenCalls: HiddenCalls;
  readonly named: NamedProjects;
  watermarks: Watermarks = noWatermarks;
  /** Rows of `calls` when it was loaded and those added since. */
  rows = Number.POSITIVE_INFINITY;
  /** Rows up to this version need no more repair. */
  repairedUpTo = 0n;
  /** The watermark is as high as that version allows. */
  raisedUpTo = 0n;
  readonly retention: KnownRetention;
  readonly #closing = new Map<string, Set<string>>();
  readonly #watches = new Set<{ projectId: string; ended: boolean }>();

  constructor(readonly limits: IngestLimits) {
    this.known = new KnownCalls(limits.knownCallBytes, 0n);
    this.newestCalls = new NewestCalls(limits.newestCallBytes, endOfTime);
    this.openSides = new OpenSides(limits.openCallBytes);
    this.deleted = new DeletedCalls(limits.deletedCallBytes);
    this.hiddenCalls = new HiddenCalls(limits.hiddenCallBytes);
    this.named = new NamedProjects(limits.namedProjectBytes);
    this.retention = new KnownRetention(limits.retentionBytes);
    this.cache = new OpenSideCache(limits.openSideCacheBytes);
    this.usage = new UsageTrees(limits.usageBytes, 0n);
  }

  /**
   * Forgets what is about to be loaded. What readers ask for stays: what is superfluous only costs them time, what is missing
   * would show what is hidden.
   */
  reset(horizon: bigint): void {
    this.known = new KnownCalls(this.limits.knownCallBytes, horizon);
    this.newestCalls.end();
    // Of no use until it is known what is stored.
    this.newestCalls = new NewestCalls(this.limits.newestCallBytes, endOfTime);
    this.openSides.clear();
    this.deleted.clear();
    this.cache.clear();
  }

  beginClosing(keys: Iterable<CallKey>): void {
    for (const { project_id, id } of keys) {
      const ids = this.#closing.get(project_id);
      if (ids === undefined) this.#closing.set(project_id, new Set([id]));
      else ids.add(id);
    }
    for (const watch of this.#watches) watch.ended ||= this.#closing.has(watch.projectId);
  }

  endClosing(): void {
    this.#closing.clear();
  }

  closing(projectId: string): ReadonlySet<string> {
    return this.#closing.get(projectId) ?? none;
  }

  watchEnds(projectId: string): EndWatch | undefined {
    if (this.#closing.has(projectId)) return undefined;
    const watch = { projectId, ended: false };
    this.#watches.add(watch);
    return {
      stop: () => {
        this.#watches.delete(watch);
        return watch.ended;
      },
    };
  }

  startedAt(call: CallKey): bigint | undefined {
    return this.closing(call.project_id).has(call.id) ? undefined : this.known.startedAt(keyText(call));
  }

  kept(call: CallKey): KeptCall | undefined {
    const startedAt = this.needsRecovery ? undefined : this.startedAt(call);
    return startedAt === undefined ? undefined : this.newestCalls.get(call, startedAt);
  }

  newest(projectId: string): NewestOfProject | undefined {
    return this.needsRecovery ? undefined : this.newestCalls.of(projectId);
  }

  keptOfTrace(projectId: string, traceId: string): readonly KeptCall[] {
    return this.needsRecovery ? [] : this.newestCalls.ofTrace(projectId, traceId);
  }

  readBack(projectId: string): ReadBack | undefined {
    const { newestCalls } = this;
    const reading = this.needsRecovery ? undefined : newestCalls.readBack(projectId);
    if (reading === undefined) return undefined;
    // What is known is loaded again after a failure.
    const isCurrent = () => this.newestCalls === newestCalls && !this.needsRecovery;
    return {
      ...reading,
      add: (calls, after) => {
        const isTaken = isCurrent() && reading.add(calls, after);
        if (isTaken) for (const call of calls) this.known.add(keyText(call), call.started_at);
        return isTaken;
      },
      next: () => (isCurrent() ? reading.next() : undefined),
    };
  }

  hidden(projectId: string): ReadonlyMap<string, HiddenCall> | undefined {
    return this.hiddenCalls.of(projectId);
  }

  mayRun(projectId: string, which?: WhichCalls): boolean {
    return this.openSides.mayRun(projectId, which);
  }

  running(projectId: string): number | undefined {
    return this.closing(projectId).size === 0 ? this.openSides.running(projectId) : undefined;
  }

  runningStarts(projectId: string): ReadonlyMap<string, OpenSide<StartSide>> | undefined {
    const starts = this.cache.starts(projectId);
    return starts.size === this.openSides.running(projectId) ? starts : undefined;
  }

  hasNames(projectId: string): boolean {
    return this.named.has(projectId);
  }

  hasAllIds(): boolean {
    return this.watermarks.idsFrom === allIds;
  }

  mostRows(): number {
    return this.rows;
  }

  indexedUpTo(): bigint | undefined {
    return this.hasAllIds() ? this.watermarks.indexed : undefined;
  }

  /** About the bytes of memory that each takes. */
  memory(): IngestMemory {
    return {
      known_calls: this.known.bytes,
      newest_calls: this.newestCalls.bytes,
      open_calls: this.openSides.bytes,
      open_payloads: this.cache.bytes,
      deleted_calls: this.deleted.bytes,
      hidden_calls: this.hiddenCalls.bytes,
      named_projects: this.named.bytes,
      retention: this.retention.bytes,
      call_usage: this.usage.bytes,
    };
  }

  retentionUs(projectId: string): RetentionUs {
    return this.retention.of(projectId);
  }
}

const none: ReadonlySet<string> = new Set();
