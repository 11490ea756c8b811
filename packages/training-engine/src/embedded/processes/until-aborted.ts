import { EngineError } from "../../engine-error.js";

/** The promise's outcome, or `aborted` as soon as the signal says so; the promise itself goes on. */
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

export function aborted(): EngineError {
  return new EngineError("aborted", "the caller ended the request");
}
