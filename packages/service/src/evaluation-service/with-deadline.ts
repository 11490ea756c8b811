import { HeddleError } from "@heddle/errors";
import type { Outcome } from "./run-calls.js";

export interface Deadline {
  /** Of the job: when it aborts, `measured` throws. */
  signal: AbortSignal;
  timeoutMs: number;
  /** What takes too long, for the message. */
  what: string;
  /** Called with errors that are no `HeddleError`. */
  onDefect: (error: unknown) => void;
}

/**
 * Carries out one prediction or score within a time and returns what came of it, an error of it included. Throws only when
 * the job was interrupted.
 */
export async function measured<Value>(
  { signal, timeoutMs, what, onDefect }: Deadline,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Outcome<Value>> {
  const startedAt = nowUs();
  const timeout = AbortSignal.timeout(timeoutMs);
  const outcome = await work(AbortSignal.any([signal, timeout])).then(
    (value): Pick<Outcome<Value>, "value" | "error"> => ({ value }),
    (error: unknown) => {
      signal.throwIfAborted();
      if (timeout.aborted) return { error: `${what} took longer than ${timeoutMs / 1000} s` };
      if (error instanceof HeddleError) return { error: error.message };
      onDefect(error);
      return { error: "internal error" };
    },
  );
  return { started_at: startedAt, ended_at: nowUs(), ...outcome };
}

export function nowUs(): bigint {
  return BigInt(Date.now()) * 1000n;
}
