import { HeddleError } from "@heddle/errors";
import type { Engine, StatementOptions } from "./engine.js";

/** Reads take milliseconds; who waits this long stands behind an engine, or readers, that will take longer still. */
const timeoutMs = 10_000;

/**
 * An engine whose reads wait for one of `slots` places. A statement is handed over only when a place is free, so what
 * its function reads is fresh; and readers that are slow to take their rows can never hold every session of the
 * engine against the writer, which uses the engine without this limit.
 */
export function limitReads(engine: Engine, slots: number): Engine {
  let free = slots;
  const waiting: Array<() => void> = [];

  async function enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (free > 0) {
      free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const turn = () => {
        clearTimeout(late);
        signal?.removeEventListener("abort", aborted);
        resolve();
      };
      const leaveLine = (reason: Error) => {
        clearTimeout(late);
        signal?.removeEventListener("abort", aborted);
        waiting.splice(waiting.indexOf(turn), 1);
        reject(reason);
      };
      const aborted = () => leaveLine(signal?.reason as Error);
      const late = setTimeout(() => leaveLine(new HeddleError("busy", "Too many reads at once")), timeoutMs);
      waiting.push(turn);
      signal?.addEventListener("abort", aborted, { once: true });
    });
  }

  /** Hands the place on. */
  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  }

  return {
    ...engine,
    async rows(statement, options?: StatementOptions) {
      await enter(options?.signal);
      try {
        return await engine.rows(statement, options);
      } finally {
        leave();
      }
    },
    async *stream(statement, options?: StatementOptions) {
      await enter(options?.signal);
      try {
        yield* engine.stream(statement, options);
      } finally {
        leave();
      }
    },
  };
}
