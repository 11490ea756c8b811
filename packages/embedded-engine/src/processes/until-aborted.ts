import { HeddleError } from "@heddle/errors";

/**
 * Settles with the promise, or rejects with `aborted` as soon as the signal aborts; the work behind the promise
 * continues.
 */
export async function untilAborted<Value>(promise: Promise<Value>, signal?: AbortSignal): Promise<Value> {
  if (!signal) return promise;
  if (signal.aborted) throw aborted();
  let onAbort: (() => void) | undefined;
  const abortion = new Promise<never>((_, reject) => {
    onAbort = () => reject(aborted());
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, abortion]);
  } finally {
    if (onAbort) signal.removeEventListener("abort", onAbort);
  }
}

export function aborted(): HeddleError {
  return new HeddleError("aborted", "the request was aborted");
}
