import type { HeddleApiError } from "./error.js";

const firstDelay = 500;
const maxDelay = 8_000;
const maxRetryAfter = 60;

/**
 * Whether another attempt may succeed: without a response, and for 408, 429 and 5xx except 501. The `x-should-retry`
 * header overrides the status.
 */
export function mayPass({ status, headers }: HeddleApiError): boolean {
  const shouldRetry = headers?.get("x-should-retry");
  const isTransient = status === 0 || status === 408 || status === 429 || (status >= 500 && status !== 501);
  return shouldRetry === "true" || (isTransient && shouldRetry !== "false");
}

/**
 * Milliseconds to wait before the next try, or undefined when trying again makes no sense.
 *
 * `Retry-After` is obeyed up to one minute; a longer one is left to the caller (`error.retryAfter`).
 * Otherwise 0.5 s doubling up to 8 s, less up to half of it at random so that clients do not return in step.
 */
export function retryDelay(error: HeddleApiError, attempt: number): number | undefined {
  const { retryAfter } = error;
  if (!mayPass(error)) return undefined;
  if (retryAfter !== undefined) return retryAfter > maxRetryAfter ? undefined : retryAfter * 1000;
  return Math.min(maxDelay, firstDelay * 2 ** attempt) * (1 - Math.random() / 2);
}

/** Resolves after the delay, or as soon as the signal aborts. */
export function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, milliseconds);
    signal?.addEventListener("abort", finish);
    if (signal?.aborted) finish();
  });
}
