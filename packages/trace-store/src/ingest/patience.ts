import { StoreError } from "../errors.js";

/**
 * A request that waits longer is told to come again: its outcome is then unknown, and sending it again is harmless.
 * Commits take milliseconds; only an engine in trouble makes anybody wait this long.
 */
const PATIENCE_MS = 10_000;

/** Resolves and rejects as `work` does, or rejects with `busy` when that takes more than ten seconds. */
export async function withPatience<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new StoreError("busy", "The trace engine takes too long")), PATIENCE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
