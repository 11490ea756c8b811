/** Until it is tried, and tried again. */
const pauseMs = 1000;

/** Does some work after a second, and again until it succeeds or the store closes. It keeps no process alive. */
export function tryLater(work: () => Promise<void>, closing: AbortSignal): void {
  const attempt = () => {
    if (!closing.aborted) work().catch(() => tryLater(work, closing));
  };
  setTimeout(attempt, pauseMs).unref();
}
