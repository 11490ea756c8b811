import type { FairShare, Sharer } from "@heddle/concurrency";
import type { Engine, StatementOptions } from "./engine.js";

/**
 * Returns an engine whose reads and inserts wait for a slot of `slots`. A statement function is called only once a slot
 * is free, so what it reads is fresh. Readers that are slow to take their rows keep their slots, and cannot use up the
 * sessions of the engine.
 */
export function withSlots(engine: Engine, slots: FairShare, sharer: () => Sharer | undefined = nobody): Engine {
  const enter = (options: StatementOptions | undefined) => slots.acquire(sharer(), 1, options?.signal);
  return {
    ...engine,
    async rows(statement, options) {
      const leave = await enter(options);
      try {
        return await engine.rows(statement, options);
      } finally {
        leave();
      }
    },
    async *stream(statement, options) {
      const leave = await enter(options);
      try {
        yield* engine.stream(statement, options);
      } finally {
        leave();
      }
    },
    async insert(table, columns, rows) {
      const leave = await enter(undefined);
      try {
        await engine.insert(table, columns, rows);
      } finally {
        leave();
      }
    },
  };
}

function nobody(): undefined {
  return undefined;
}
