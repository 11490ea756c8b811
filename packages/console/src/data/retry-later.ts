import { isRetryable } from "@heddle/client/tracing";
import { isPageVisible, onPageVisibility } from "./page-visibility.js";

/** Between two tries of what failed. */
const [firstWaitMs, longestWaitMs] = [1000, 30_000];

/** Milliseconds to the next try of what has failed so often and may pass: the service is away, or has too much to do. Undefined where it will not. */
export function waitBeforeRetry(error: unknown, failures: number): number | undefined {
  if (!isRetryable(error)) return undefined;
  return Math.max(1000 * (error.retryAfter ?? 0), Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - 1)));
}

/** Calls once the time is over and the page can be seen: in a hidden tab nobody waits for it. Returns how to give it up. */
export function onceSeenAfter(ms: number, then: () => void): () => void {
  let endWatch = () => {};
  const look = () => {
    if (!isPageVisible()) return;
    endWatch();
    then();
  };
  const timer = setTimeout(() => {
    endWatch = onPageVisibility(look);
    look();
  }, ms);
  return () => {
    clearTimeout(timer);
    endWatch();
  };
}
