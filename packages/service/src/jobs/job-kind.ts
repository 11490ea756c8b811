import type { ClaimedJob, JobProgress } from "@heddle/control-plane";
import type { Sharer } from "@heddle/concurrency";

/** One attempt at a job, while this process has its lease. */
export interface JobAttempt {
  /** The key that asks for the work, and its entity. */
  sharer: Sharer;
  /** Aborts when the job was cancelled, its lease was lost, or the service stops. */
  signal: AbortSignal;
  /** Stored with the next renewal of the lease. */
  report(progress: JobProgress): void;
  /** Throws `aborted` unless this process still has the job. To be called before every write. */
  checkHeld(): void;
  /**
   * Whether the job has had its time slice and another one is to run: it begins nothing more, and `run` returns `yielded`
   * as soon as what it has begun is done.
   */
  readonly shouldYield: boolean;
  /**
   * To be called after the preparations that each attempt repeats: before, and for a second after it, the time slice does
   * not end, so that each attempt gets something done.
   */
  beginWork(): void;
}

/** Slots for work that would keep the others waiting for long. */
export type JobPool = "training";

/**
 * How jobs of a kind are done. All of it may be repeated after a crash, so what it writes has ids that follow from the
 * job.
 */
export interface JobKind {
  name: string;
  /**
   * Jobs of kinds with the same pool share its slots, and keep them until `run` has returned. Absent: the slots of all
   * other kinds, which a job that only waits for what it has begun does not need any more.
   */
  pool?: JobPool;
  /**
   * Does the job. Errors of the codes `busy`, `denied`, `rate_limited` and `aborted`, and errors that are no
   * `HeddleError`, are tried again later; every other error fails the job. `cancelled` means that nobody wants the result
   * any more, `yielded` that a further attempt continues.
   */
  run(job: ClaimedJob, attempt: JobAttempt): Promise<"succeeded" | "cancelled" | "yielded">;
  /** Records that the job failed, for those who wait for its result. */
  fail(job: ClaimedJob, error: string): Promise<void>;
  /**
   * Ends what attempts have begun: removes it, or records `cancel_reason` for those who wait for the result. May be called
   * for a job that was never run.
   */
  cancel(job: ClaimedJob): Promise<void>;
}
