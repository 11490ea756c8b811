import type { ClaimedJob, JobOutcome, Jobs } from "@heddle/control-plane";
import { attemptJob, continued, outageDelayMs } from "./attempt-job.js";
import type { AttemptEnd } from "./attempt-job.js";
import { HeldJob } from "./held-job.js";
import type { JobKind, JobPool } from "./job-kind.js";
import { mayEndSlice, msToNextSliceEnd, slicesToEnd } from "./slices.js";
import { sharesOf } from "./slot-shares.js";

export interface JobRunnerOptions {
  /** Jobs that run at the same time, of all kinds without a pool. */
  concurrency: number;
  /** Jobs of the kinds of a pool that run at the same time. */
  pools?: Readonly<Record<JobPool, number>>;
  /** How long a job keeps its slot while others wait who have less; default 15 s. */
  sliceMs?: number;
  /** How long a job stays with a process that does not renew its claim; default 15 s. */
  leaseMs?: number;
  /** Called with each error that is not stored with a job: defects, and stores that do not respond. */
  onError: (error: unknown) => void;
  /** Called when a job has ended. */
  onEnded?: (kind: string, outcome: JobOutcome) => void;
}

/** What requests may do with jobs. */
export type JobQueue = Pick<JobRunner, "add" | "cancel" | "wake">;

const defaultLeaseMs = 15_000;
const defaultSliceMs = 15_000;
/** Cancelled jobs that are ended at the same time. They need no slot. */
const maxEnding = 4;
/** Jobs are looked for this often even if none is known to become due: another process adds some, or revokes a key. */
const longestWaitMs = 5000;

/** Runs the jobs of the queue in this process. */
export class JobRunner {
  readonly #queue: Jobs;
  readonly #options: JobRunnerOptions & { leaseMs: number; sliceMs: number };
  readonly #kinds = new Map<string, JobKind>();
  readonly #running = new Map<HeldJob, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #claiming: Promise<void> | undefined;
  #claimAgain = false;
  #stopped = true;

  constructor(queue: Jobs, options: JobRunnerOptions) {
    this.#queue = queue;
    const { leaseMs = defaultLeaseMs, sliceMs = defaultSliceMs } = options;
    this.#options = { ...options, leaseMs, sliceMs };
  }

  /** Begins to run jobs of the kinds given; jobs that were added before wait until then. */
  start(kinds: readonly JobKind[]): void {
    for (const kind of kinds) this.#kinds.set(kind.name, kind);
    this.#stopped = false;
    this.wake();
  }

  /** Adds a job, which is durable when this resolves. Throws `conflict` for an id that was used before. */
  async add(job: Parameters<Jobs["add"]>[0]): Promise<void> {
    await this.#queue.add(job);
    this.wake();
  }

  /** Cancels jobs of a project. Unknown and ended ones are left as they are. */
  async cancel(projectId: string, ids: readonly string[]): Promise<void> {
    const claimed = new Set(await this.#queue.cancel(projectId, ids));
    for (const held of this.#running.keys()) {
      if (held.job.project_id === projectId && claimed.has(held.job.id)) held.interrupt("cancelled");
    }
    this.wake();
  }

  /** Claims nothing more, interrupts what runs, and resolves when all of it is given back. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#claiming;
    for (const held of this.#running.keys()) held.interrupt("stopping");
    await Promise.all(this.#running.values());
  }

  /** Looks for jobs to run, because one was added to the queue by other means. */
  wake(): void {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    if (this.#claiming !== undefined) {
      this.#claimAgain = true;
      return;
    }
    this.#claiming = this.#claimAndWait();
  }

  async #claimAndWait(): Promise<void> {
    const waitMs = await this.#claimAll().catch((error: unknown) => {
      this.#options.onError(error);
      return outageDelayMs;
    });
    this.#claiming = undefined;
    if (this.#stopped) return;
    if (this.#claimAgain) {
      this.wake();
    } else {
      this.#timer = setTimeout(() => this.wake(), waitMs);
      this.#timer.unref();
    }
  }

  get #leaseUs(): bigint {
    return BigInt(this.#options.leaseMs) * 1000n;
  }

  /** Claims jobs until none is left or all slots are taken; returns how long to wait for the next one. */
  async #claimAll(): Promise<number> {
    this.#claimAgain = false;
    await this.#claimCancelled();
    let waitMs = longestWaitMs;
    for (const pool of new Set([...this.#kinds.values()].map((kind) => kind.pool))) {
      await this.#claimIn(pool);
      waitMs = Math.min(waitMs, await this.#endSlices(pool));
    }
    const kinds = [...this.#kinds.keys()];
    const dueMs = (await this.#queue.msToNextDue({ kinds, lease_us: this.#leaseUs })) ?? longestWaitMs;
    return Math.max(Math.min(waitMs, Math.ceil(dueMs)), 1);
  }

  async #claimCancelled(): Promise<void> {
    const kinds = [...this.#kinds.keys()];
    const ending = () => [...this.#running.keys()].filter(({ job }) => job.cancel_requested).length;
    while (!this.#stopped && ending() < maxEnding) {
      const claim = await this.#claim(async (lease) => await this.#queue.claimCancelled({ kinds, ...lease }));
      if (!claim) return;
    }
  }

  async #claimIn(pool: JobPool | undefined): Promise<void> {
    const kinds = this.#kindsOf(pool);
    const slots = this.#slots(pool);
    for (;;) {
      const held = this.#heldIn(pool);
      const running = pool === undefined ? held.filter(({ shouldYield }) => !shouldYield) : held;
      if (this.#stopped || running.length >= slots) return;
      // A key cannot collect jobs that only wait for what they have begun.
      const full = { entities: sharesOf(slots, running).fullEntities(), keys: sharesOf(slots, held).fullKeys() };
      const request = { kinds, full, ...(pool && { pool }) };
      if (!(await this.#claim(async (lease) => await this.#queue.claim({ ...request, ...lease })))) return;
    }
  }

  /** Begins with the job that is claimed; returns false if there is none. */
  async #claim(claim: (lease: { lease_us: bigint }) => Promise<ClaimedJob | undefined>): Promise<boolean> {
    const { leaseMs } = this.#options;
    const claimedAt = performance.now();
    const job = await claim({ lease_us: this.#leaseUs });
    if (job !== undefined) this.#begin(new HeldJob(this.#queue, job, { leaseMs, claimedAt }));
    return job !== undefined;
  }

  /**
   * Makes jobs that have had their time slice give their slot back, if others wait who have less. Returns how long to wait
   * for the end of the next slice.
   */
  async #endSlices(pool: JobPool | undefined): Promise<number> {
    const { sliceMs } = this.#options;
    const held = this.#heldIn(pool);
    const running = held.filter(({ shouldYield }) => !shouldYield);
    if (mayEndSlice(running, sliceMs)) {
      const waiting = await this.#queue.waiting({ kinds: this.#kindsOf(pool), ...(pool && { pool }) });
      // The first ones get the slots that others are about to give back.
      const next = waiting.slice(pool === undefined ? 0 : held.length - running.length);
      const ended = slicesToEnd(running, next, { sliceMs, slots: this.#slots(pool) });
      for (const each of ended) each.yieldSlot();
      // What it has begun needs no slot: the next one can have it at once.
      if (pool === undefined && ended.length > 0) this.#claimAgain = true;
    }
    return Math.min(longestWaitMs, msToNextSliceEnd(running, sliceMs));
  }

  #kindsOf(pool: JobPool | undefined): string[] {
    return [...this.#kinds.values()].filter((kind) => kind.pool === pool).map(({ name }) => name);
  }

  #slots(pool: JobPool | undefined): number {
    return pool === undefined ? this.#options.concurrency : (this.#options.pools?.[pool] ?? 1);
  }

  /** The jobs of this process that are in a pool, without those that are only ended. */
  #heldIn(pool: JobPool | undefined): HeldJob[] {
    return [...this.#running.keys()].filter(
      ({ job }) => !job.cancel_requested && this.#kinds.get(job.kind)?.pool === pool,
    );
  }

  #begin(held: HeldJob): void {
    const work = this.#run(held)
      .catch(this.#options.onError)
      .finally(() => {
        this.#running.delete(held);
        this.wake();
      });
    this.#running.set(held, work);
  }

  /** One attempt, and how the job goes on. What this cannot store is left to the end of the lease. */
  async #run(held: HeldJob): Promise<void> {
    const { job } = held;
    const kind = this.#kinds.get(job.kind);
    if (kind === undefined) throw new Error(`no kind ${job.kind}`);
    let ended: AttemptEnd;
    try {
      ended = await attemptJob(kind, held, this.#options.onError);
      if ("state" in ended && held.interruption() !== "lost") {
        if (ended.state === "cancelled") await kind.cancel(job);
        if (ended.state === "failed") await kind.fail(job, ended.error ?? "");
      }
    } catch (error) {
      this.#options.onError(error);
      ended = { delayMs: outageDelayMs, counted: false };
    }
    await held.release();
    // A claim that was lost names nothing; one that only seemed lost, as when the clock was set, is for another attempt.
    if (held.interruption() === "lost") ended = continued;
    if ("state" in ended) {
      if (await this.#queue.finish(job, ended.state, ended.error)) this.#options.onEnded?.(job.kind, ended.state);
    } else await this.#queue.giveBack(job, { delay_us: BigInt(ended.delayMs) * 1000n, counted: ended.counted });
  }
}
