import type { Engine, StatementOptions } from "./engine.js";

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
        signal?.removeEventListener("abort", leaveLine);
        resolve();
      };
      const leaveLine = () => {
        waiting.splice(waiting.indexOf(turn), 1);
        reject(signal?.reason as Error);
      };
      waiting.push(turn);
      signal?.addEventListener("abort", leaveLine, { once: true });
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
