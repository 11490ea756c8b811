import type { JobOutcome, Jobs } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { ErrorCode } from "@heddle/errors";
import { HeldJob } from "./held-job.js";
import type { JobKind, JobPool } from "./job-kind.js";

export interface JobRunnerOptions {
  /** Jobs that run at the same time, of all kinds without a pool. */
  concurrency: number;
  /** Jobs of the kinds of a pool that run at the same time. */
  pools?: Readonly<Record<JobPool, number>>;
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
/** Attempts that count, after which a job fails. */
const maxAttempts = 5;
/** After an attempt that counts: doubled for each further one. */
const firstDelayMs = 1000;
const longestDelayMs = 60_000;
/** After an attempt that ended because a store did not respond, and between claims while the control plane does not. */
const outageDelayMs = 3000;
/** Jobs are looked for this often even if none is known to become due, in case another process adds some. */
const longestWaitMs = 60_000;

/** Codes of errors that do not last. The attempt is repeated and does not count. */
const transient: ReadonlySet<ErrorCode> = new Set(["busy", "denied", "rate_limited", "aborted"]);

/** The terminal state of the job, or when it can be claimed again. */
type AttemptEnd = { state: JobOutcome; error?: string } | { delayMs: number; counted: boolean };

/** Runs the jobs of the queue in this process. */
export class JobRunner {
  readonly #queue: Jobs;
  readonly #options: JobRunnerOptions & { leaseMs: number };
  readonly #kinds = new Map<string, JobKind>();
  readonly #running = new Map<HeldJob, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #claiming: Promise<void> | undefined;
  #claimAgain = false;
  #stopped = true;

  constructor(queue: Jobs, options: JobRunnerOptions) {
    this.#queue = queue;
    this.#options = { ...options, leaseMs: options.leaseMs ?? defaultLeaseMs };
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

  /** Claims jobs until none is left or all slots are taken; returns how long to wait for the next one. */
  async #claimAll(): Promise<number> {
    const { leaseMs } = this.#options;
    this.#claimAgain = false;
    for (let kinds = this.#claimable(); !this.#stopped && kinds.length > 0; kinds = this.#claimable()) {
      const claimedAt = performance.now();
      const job = await this.#queue.claim({ kinds, lease_us: BigInt(leaseMs) * 1000n });
      if (job === undefined) {
        const due = await this.#queue.nextDue(kinds);
        const waitMs = due === undefined ? longestWaitMs : Number(due / 1000n) - Date.now() + 1;
        return Math.min(Math.max(waitMs, 1), longestWaitMs);
      }
      this.#begin(new HeldJob(this.#queue, job, { leaseMs, claimedAt }));
    }
    // The end of a running job wakes the runner.
    return longestWaitMs;
  }

  /** The kinds that have a free slot. */
  #claimable(): string[] {
    const { concurrency, pools } = this.#options;
    const taken = new Map<JobPool | undefined, number>();
    for (const { job } of this.#running.keys()) {
      const pool = this.#kinds.get(job.kind)?.pool;
      taken.set(pool, (taken.get(pool) ?? 0) + 1);
    }
    const slots = (pool: JobPool | undefined) => (pool === undefined ? concurrency : (pools?.[pool] ?? 1));
    return [...this.#kinds.values()].filter(({ pool }) => (taken.get(pool) ?? 0) < slots(pool)).map(({ name }) => name);
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
    if (job.cancel_requested) held.interrupt("cancelled");
    let ended: AttemptEnd;
    try {
      ended = await this.#attempt(kind, held);
      if ("state" in ended && held.interruption() !== "lost") {
        if (ended.state === "cancelled") await kind.cancel(job);
        if (ended.state === "failed") await kind.fail(job, ended.error ?? "");
      }
    } catch (error) {
      this.#options.onError(error);
      ended = { delayMs: outageDelayMs, counted: false };
    }
    await held.release();
    if (held.interruption() === "lost") return;
    if ("state" in ended) {
      if (await this.#queue.finish(job, ended.state, ended.error)) this.#options.onEnded?.(job.kind, ended.state);
    } else await this.#queue.giveBack(job, { delay_us: BigInt(ended.delayMs) * 1000n, counted: ended.counted });
  }

  async #attempt(kind: JobKind, held: HeldJob): Promise<AttemptEnd> {
    const { job } = held;
    const cancelled: AttemptEnd = { state: "cancelled" };
    if (held.interruption() === "cancelled") return cancelled;
    if (job.attempts > maxAttempts) {
      return { state: "failed", error: `given up after ${maxAttempts} attempts` };
    }
    try {
      return { state: await kind.run(job, held) };
    } catch (error) {
      if (held.interruption() === "cancelled") return cancelled;
      if (held.interruption() !== undefined) return { delayMs: 0, counted: false };
      if (error instanceof HeddleError && transient.has(error.code)) {
        this.#options.onError(error);
        return { delayMs: outageDelayMs, counted: false };
      }
      if (error instanceof HeddleError) return { state: "failed", error: error.message };
      this.#options.onError(error);
      if (job.attempts >= maxAttempts) return { state: "failed", error: "internal error" };
      return { delayMs: Math.min(firstDelayMs * 2 ** (job.attempts - 1), longestDelayMs), counted: true };
    }
  }
}
