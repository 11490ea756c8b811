import type { FairShare, Sharer } from "@heddle/concurrency";
import type { Engine, StatementOptions } from "./engine.js";

export interface SlotOptions {
  sharer?: (() => Sharer | undefined) | undefined;
  /** Cores of the engine, which the statements of an entity divide among themselves. Absent: each may use all. */
  cores?: number | undefined;
}

/**
 * Returns an engine whose reads and inserts wait for a slot of `slots`. A statement function is called only once a slot
 * is free, so what it reads is fresh. Readers that are slow to take their rows keep their slots, and cannot use up the
 * sessions of the engine.
 */
export function withSlots(engine: Engine, slots: FairShare, { sharer = nobody, cores }: SlotOptions = {}): Engine {
  const enter = (options: StatementOptions | undefined) => slots.acquire(sharer(), 1, options?.signal);
  /** Of the one that has just got its slot. */
  const divided = (options: StatementOptions | undefined): StatementOptions | undefined => {
    const current = sharer();
    const statements = current === undefined ? 1 : slots.heldByEntity(current);
    if (cores === undefined || statements <= 1) return options;
    return { ...options, settings: { max_threads: Math.ceil(cores / statements), ...options?.settings } };
  };
  return {
    ...engine,
    async rows(statement, options) {
      const leave = await enter(options);
      try {
        return await engine.rows(statement, divided(options));
      } finally {
        leave();
      }
    },
    async *stream(statement, options) {
      const leave = await enter(options);
      try {
        yield* engine.stream(statement, divided(options));
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
