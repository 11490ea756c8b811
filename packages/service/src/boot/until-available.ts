import { setTimeout as delay } from "node:timers/promises";
import { UnavailableError } from "../config/unavailable-error.js";

interface Wait {
  /** Called with each reason, as clients may know it. */
  onWait?: (reason: string) => void | Promise<void>;
  /** Receives why the first attempt has failed. */
  log: (line: string) => void;
  withinMs?: number;
  pauseMs?: number;
}

/**
 * Starts again while a store does not respond, as when it is started at the same time, or drops one query. Throws what the last
 * attempt within `withinMs` threw, and everything else at once.
 */
export async function untilAvailable<T>(
  start: () => Promise<T>,
  { log, onWait, withinMs = 30_000, pauseMs = 1000 }: Wait,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof UnavailableError) || performance.now() + pauseMs > end) throw error;
      await onWait?.(error.reason);
      // Who reads that it waits can ask what for.
      if (isFirst) log(`${error.message}. Trying again for ${withinMs / 1000} s`);
    }
    await delay(pauseMs);
  }
}
