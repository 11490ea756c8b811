import { HeddleError } from "@heddle/errors";

/**
 * A request that waits longer is `busy`: its outcome is then unknown, and sending it again is harmless. Commits take
 * milliseconds; only an engine that is down or overloaded takes this long.
 */
const timeoutMs = 10_000;

const timeoutError = (): Error => new HeddleError("busy", "The trace engine takes too long");

/** Resolves and rejects as `work` does, or rejects with `error` when that takes longer than `ms`. */
export async function withTimeout<T>(
  work: Promise<T>,
  ms: number = timeoutMs,
  error: () => unknown = timeoutError,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(error() as Error), ms);
  });
  try {
    return await Promise.race([work, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
