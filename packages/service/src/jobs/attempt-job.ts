import type { JobOutcome } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { ErrorCode } from "@heddle/errors";
import type { HeldJob } from "./held-job.js";
import type { JobKind } from "./job-kind.js";

/** The terminal state of the job, or when it can be claimed again. */
export type AttemptEnd = { state: JobOutcome; error?: string } | { delayMs: number; counted: boolean };

/** After an attempt that ended because a store did not respond, and between claims while the control plane does not. */
export const outageDelayMs = 3000;
/** Attempts that count, after which a job fails. */
const maxAttempts = 5;
/** After an attempt that counts: doubled for each further one. */
const firstDelayMs = 1000;
const longestDelayMs = 60_000;

/** Codes of errors that do not last. The attempt is repeated and does not count. */
const transient: ReadonlySet<ErrorCode> = new Set(["busy", "denied", "rate_limited", "aborted"]);

/** The job goes on at once. */
export const continued: AttemptEnd = { delayMs: 0, counted: false };

/** Makes one attempt at a job and returns how it goes on. Never throws. */
export async function attemptJob(kind: JobKind, held: HeldJob, onError: (error: unknown) => void): Promise<AttemptEnd> {
  const { job } = held;
  if (job.cancel_requested) return { state: "cancelled", ...(job.cancel_reason && { error: job.cancel_reason }) };
  if (job.attempts > maxAttempts) return { state: "failed", error: `given up after ${maxAttempts} attempts` };
  try {
    const state = await kind.run(job, held);
    return state === "yielded" ? continued : { state };
  } catch (error) {
    // A cancelled job is claimed again, to be ended.
    if (held.interruption() !== undefined) return continued;
    if (error instanceof HeddleError && transient.has(error.code)) {
      onError(error);
      return { delayMs: outageDelayMs, counted: false };
    }
    if (error instanceof HeddleError) return { state: "failed", error: error.message };
    onError(error);
    if (job.attempts >= maxAttempts) return { state: "failed", error: "internal error" };
    return { delayMs: Math.min(firstDelayMs * 2 ** (job.attempts - 1), longestDelayMs), counted: true };
  }
}
