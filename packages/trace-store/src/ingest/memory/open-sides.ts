import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import type { WhichCalls } from "../../stored-calls/in-flight.js";
import { copyText } from "../../stored-calls/call-sides.js";
import { KeyTable } from "./key-table.js";
import { OpenTraces } from "./open-traces.js";

export const hasStart = 1;
export const hasEnd = 2;

/**
 * Every call with an open side: started_at of the start (0 for a lone end), and which sides.
 *
 * Bounded by bytes: when there are more it remembers none, and whoever asks looks them up, until all are loaded again.
 */
export class OpenSides {
  readonly #table = new KeyTable();
  /** Open starts of each project that has any. */
  readonly #starts = new Map<string, number>();
  #startBytes = 0;
  readonly #traces = new OpenTraces();
  readonly #limit: number;
  #loaded = false;
  #tooMany = false;

  constructor(limitBytes = Number.POSITIVE_INFINITY) {
    this.#limit = limitBytes;
  }

  /** There are more than it may remember. */
  get tooMany(): boolean {
    return this.#tooMany;
  }

  /** How many it remembers at least, if none share traces. */
  get capacity(): number {
    return KeyTable.capacityOf(this.#limit / 3);
  }

  /** No call has an open side. */
  get isEmpty(): boolean {
    return !this.#tooMany && this.#table.size === 0;
  }

  get bytes(): number {
    return this.#table.bytes + this.#traces.bytes + this.#startBytes;
  }

  /** Undefined where the table of open sides has to be asked. */
  has(key: string): boolean | undefined {
    return this.#tooMany ? undefined : this.#table.has(key);
  }

  time(key: string): bigint | undefined {
    return this.#table.time(key);
  }

  /** `hasStart`, `hasEnd`, both or 0; both for every call when there are too many. */
  flags(key: string): number {
    return this.#tooMany ? hasStart | hasEnd : this.#table.flags(key);
  }

  /** With the trace of a start, unless it is the same start as before. */
  set(call: CallKey, time: bigint, flags: number, traceId?: string): void {
    if (this.#tooMany) return;
    const key = keyText(call);
    if (traceId !== undefined) this.#traces.set(key, call.project_id, traceId);
    else if ((flags & hasStart) === 0) this.#traces.delete(key);
    this.#count(call.project_id, (flags & hasStart) - (this.#table.flags(key) & hasStart));
    this.#table.set(key, time, flags);
    if (this.bytes <= this.#limit) return;
    this.clear();
    this.#tooMany = true;
  }

  delete(call: CallKey): void {
    if (this.#tooMany) return;
    const key = keyText(call);
    const flags = this.#table.flags(key);
    // Most calls arrive complete and are not here.
    if (flags === 0) return;
    this.#count(call.project_id, -(flags & hasStart));
    this.#table.delete(key);
    this.#traces.delete(key);
  }

  /**
   * True while the project may have running calls, or these calls or traces may have some: always, until what was
   * forgotten is loaded again.
   */
  mayRun(projectId: string, { ids, traceIds }: WhichCalls = {}): boolean {
    if (this.running(projectId) === 0) return false;
    if (!this.#loaded) return true;
    const isRunning = (id: string) => (this.flags(keyText({ project_id: projectId, id })) & hasStart) !== 0;
    return (ids?.some(isRunning) ?? true) && (traceIds?.some((id) => this.#traces.has(projectId, id)) ?? true);
  }

  /** How many calls of the project run; undefined until what was forgotten is loaded again. */
  running(projectId: string): number | undefined {
    return this.#loaded ? (this.#starts.get(projectId) ?? 0) : undefined;
  }

  /** Everything is to be loaded. */
  clear(): void {
    this.#loaded = false;
    this.#tooMany = false;
    this.#table.clear();
    this.#starts.clear();
    this.#startBytes = 0;
    this.#traces.clear();
  }

  loaded(): void {
    this.#loaded = !this.#tooMany;
  }

  #count(projectId: string, change: number): void {
    if (change === 0) return;
    const before = this.#starts.get(projectId);
    const starts = (before ?? 0) + change;
    const bytes = projectBytes + projectId.length;
    if (starts > 0) {
      this.#starts.set(before === undefined ? copyText(projectId) : projectId, starts);
      if (before === undefined) this.#startBytes += bytes;
    } else if (this.#starts.delete(projectId)) this.#startBytes -= bytes;
  }
}

/** About the memory of a project with running calls, without its name. */
const projectBytes = 100;
