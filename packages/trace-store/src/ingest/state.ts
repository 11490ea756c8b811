import type { CallKey } from "./call-key.js";
import { HalfCache } from "./half-cache.js";
import type { InFlight } from "./in-flight.js";
import { KeyTable } from "./key-table.js";
import { KnownCalls } from "./known-calls.js";

/** How much ingest keeps in memory. */
export interface IngestLimits {
  /** Complete calls remembered by key, 26 to 52 bytes each. */
  known_calls: number;
  /** Bytes of open halves kept with what they carry. */
  half_cache_bytes: number;
  /** How far back `known` reaches at start. */
  horizon_us: bigint;
}

export const defaultLimits: IngestLimits = {
  known_calls: 1_000_000,
  half_cache_bytes: 64 * 1024 * 1024,
  horizon_us: 600_000_000n,
};

export const hasStart = 1;
export const hasEnd = 2;

/** What ingest remembers of the database. It changes only after a commit succeeded, and is loaded anew after one that may not have. */
export class IngestState implements InFlight {
  known: KnownCalls;
  /** Every call with an open half: started_at of the start (0 for a lone end), and which halves. */
  readonly halves = new KeyTable();
  /** Every deleted call: late parts of them are dropped. */
  readonly deleted = new KeyTable();
  readonly cache: HalfCache;
  /** An insert may or may not have been applied: nothing is written before a recovery. */
  suspect = false;
  /** Since the last clean-up of `call_parts`. */
  closedHalves = 0;
  readonly projectsWithHidden = new Set<string>();
  readonly projectsWithNames = new Set<string>();
  readonly #closing = new Map<string, string[]>();

  constructor(readonly limits: IngestLimits) {
    this.known = new KnownCalls(limits.known_calls, 0n);
    this.cache = new HalfCache(limits.half_cache_bytes);
  }

  /**
   * Forgets what is about to be loaded. What readers ask for stays: a project too many only costs them time, one too
   * few would show what is hidden.
   */
  reset(horizon: bigint): void {
    this.known = new KnownCalls(this.limits.known_calls, horizon);
    this.halves.clear();
    this.deleted.clear();
    this.cache.clear();
  }

  beginClosing(keys: Iterable<CallKey>): void {
    for (const { project_id, id } of keys) {
      const ids = this.#closing.get(project_id);
      if (ids === undefined) this.#closing.set(project_id, [id]);
      else ids.push(id);
    }
  }

  endClosing(): void {
    this.#closing.clear();
  }

  closing(project_id: string): readonly string[] {
    return this.#closing.get(project_id) ?? [];
  }

  hasHidden(project_id: string): boolean {
    return this.projectsWithHidden.has(project_id);
  }

  hasNames(project_id: string): boolean {
    return this.projectsWithNames.has(project_id);
  }
}
