import type { Change } from "./change.js";

/** So many changes of a project are kept. */
const maxKept = 10_000;
/**
 * What changes in such a time is read at once. The time grows with what reads take and with how many readers there are, so that
 * they take at most about a fifth of it: a statement for a few changes, and a piece that is sent to a reader, cost nearly as much
 * as those for many, and those who write need the engine and the processor, too.
 */
const [leastCollectMs, mostCollectMs, partOfTime] = [50, 200, 5] as const;
/** What it takes to compress and send something to a reader. */
const sendMs = 1;

/** The last changes of a project that has readers. */
export class ProjectChanges {
  readonly #settled: () => bigint;
  /** In the order of their versions, so that readers, who are near the end, look at few. */
  #changes: Change[] = [];
  /** Every change after this version is, or will be, among those that are kept. */
  #since: bigint;
  #boundary: bigint;
  #wokenAt = 0;
  /** How many readers were woken. */
  #woken = 0;
  /** What reads took since then. */
  #readMs = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #waiting = new Set<() => void>();

  /** `issued`: what has such a version or a smaller one may have been published before there was a reader. */
  constructor(settled: () => bigint, issued: bigint) {
    this.#settled = settled;
    this.#since = issued;
    this.#boundary = settled();
  }

  /** Up to here readers have been woken: those that read as far are at the same place. */
  get boundary(): bigint {
    return this.#boundary;
  }

  add(change: Change): void {
    const last = this.#changes.at(-1);
    if (last === undefined || last.version <= change.version) this.#changes.push(change);
    else this.#changes.splice(this.#firstAfter(change.version), 0, change);
    if (this.#changes.length < 2 * maxKept) return;
    this.#since = this.#changes.at(-maxKept - 1)?.version ?? this.#since;
    this.#changes.splice(0, this.#firstAfter(this.#since));
  }

  /** The changes after one version up to another, in their order; undefined where some are not kept any more. */
  between(after: bigint, upTo: bigint): Change[] | undefined {
    if (after < this.#since) return undefined;
    return this.#changes.slice(this.#firstAfter(after), this.#firstAfter(upTo));
  }

  /**
   * What happened up to a version is known to the store alone: readers look there. That is further than what is settled while
   * something else is under way: what was not published may have a greater version than that.
   */
  forget(upTo: bigint): void {
    this.#since = upTo;
    this.#changes.splice(0, this.#firstAfter(this.#since));
    this.#move();
  }

  /** To be called with the time that a reader, or several that share it, waited for a read. */
  took(ms: number): void {
    this.#readMs += ms;
  }

  /** To be called when changes are settled. */
  notice(): void {
    if (this.#timer !== undefined || !this.#hasNews()) return;
    const busyMs = this.#readMs + sendMs * this.#woken;
    const collectMs = Math.min(mostCollectMs, Math.max(leastCollectMs, partOfTime * busyMs));
    const wait = Math.max(0, this.#wokenAt + collectMs - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#wokenAt = performance.now();
      this.#readMs = 0;
      this.#move();
    }, wait);
  }

  /** Moves the boundary as far as nothing is under way, also where nothing has changed. */
  advance(): void {
    if (this.#timer === undefined) this.#move();
  }

  /** Resolves when the boundary has moved, after a time, or when the signal aborts. */
  async moved(timeoutMs: number, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      signal.addEventListener("abort", done, { once: true });
      this.#waiting.add(done);
      if (signal.aborted) done();
    });
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #hasNews(): boolean {
    const next = this.#changes[this.#firstAfter(this.#boundary)];
    return next !== undefined && next.version <= this.#settled();
  }

  /** Where the first change after a version is. */
  #firstAfter(after: bigint): number {
    let [from, to] = [0, this.#changes.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#changes[middle]?.version ?? 0n) > after) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  #move(): void {
    const settled = this.#settled();
    if (settled <= this.#boundary) return;
    this.#boundary = settled;
    this.#woken = this.#waiting.size;
    for (const wake of this.#waiting) wake();
  }
}
