import { EngineError } from "../../engine-error.js";

/** The promise's outcome, or `aborted` as soon as the signal says so; the promise itself goes on. */
export async function untilAborted<Value>(promise: Promise<Value>, signal?: AbortSignal): Promise<Value> {
  if (!signal) return promise;
  if (signal.aborted) throw aborted();
  let leave: (() => void) | undefined;
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(aborted());
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([promise, left]);
  } finally {
    if (leave) signal.removeEventListener("abort", leave);
  }
}

export function aborted(): EngineError {
  return new EngineError("aborted", "the caller ended the request");
}
