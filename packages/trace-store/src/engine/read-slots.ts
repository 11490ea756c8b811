import { HeddleError } from "@heddle/errors";
import type { Engine, StatementOptions } from "./engine.js";

/** Reads take milliseconds: after this long the engine is overloaded, or all slots are held by slow readers. */
const timeoutMs = 10_000;

/**
 * Returns an engine whose reads wait for one of `slots` slots. A statement function is called only once a slot is free,
 * so what it reads is fresh. Readers that are slow to take their rows cannot use up the sessions of the engine: the
 * writer uses the engine without this limit.
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
      const grant = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
        resolve();
      };
      const giveUp = (reason: Error) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
        waiting.splice(waiting.indexOf(grant), 1);
        reject(reason);
      };
      const aborted = () => giveUp(signal?.reason as Error);
      const timer = setTimeout(() => giveUp(new HeddleError("busy", "Too many reads at once")), timeoutMs);
      waiting.push(grant);
      signal?.addEventListener("abort", aborted, { once: true });
    });
  }

  /** Gives the slot to the next one that waits. */
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
