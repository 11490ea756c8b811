import type { ClaimedJob, JobProgress } from "@heddle/control-plane";

/** One attempt at a job, while this process has its lease. */
export interface JobAttempt {
  /** Aborts when the job was cancelled, its lease was lost, or the service stops. */
  signal: AbortSignal;
  /** Stored with the next renewal of the lease. */
  report(progress: JobProgress): void;
  /** Throws `aborted` unless this process still has the job. To be called before every write. */
  checkHeld(): void;
}

/** Slots for work that would keep the others waiting for long. */
export type JobPool = "training";

/**
 * How jobs of a kind are done. All of it may be repeated after a crash, so what it writes has ids that follow from the
 * job.
 */
export interface JobKind {
  name: string;
  /** Jobs of kinds with the same pool share its slots. Absent: the slots of all other kinds. */
  pool?: JobPool;
  /**
   * Does the job. Errors of the codes `busy`, `denied`, `rate_limited` and `aborted`, and errors that are no
   * `HeddleError`, are tried again later; every other error fails the job. `cancelled` means that nobody wants the result
   * any more.
   */
  run(job: ClaimedJob, attempt: JobAttempt): Promise<"succeeded" | "cancelled">;
  /** Records that the job failed, for those who wait for its result. */
  fail(job: ClaimedJob, error: string): Promise<void>;
  /** Removes what the last attempt wrote after the job was cancelled. */
  cancel(job: ClaimedJob): Promise<void>;
}
