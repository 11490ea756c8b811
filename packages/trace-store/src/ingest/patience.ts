import { HeddleError } from "@heddle/errors";

/**
 * A request that waits longer is told to come again: its outcome is then unknown, and sending it again is harmless.
 * Commits take milliseconds; only an engine in trouble makes anybody wait this long.
 */
const timeoutMs = 10_000;

const tooLate = (): Error => new HeddleError("busy", "The trace engine takes too long");

/** Resolves and rejects as `work` does, or rejects with `late` when that takes longer than `ms`. */
export async function withPatience<T>(
  work: Promise<T>,
  ms: number = timeoutMs,
  late: () => unknown = tooLate,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tired = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late() as Error), ms);
  });
  try {
    return await Promise.race([work, tired]);
  } finally {
    clearTimeout(timer);
  }
}
