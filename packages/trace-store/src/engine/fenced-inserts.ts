import { isFenced } from "./engine-failure.js";
import type { Engine } from "./engine.js";

/** Returns an engine that tells how many rows of an insert were refused because another process has the database now. */
export function noticeFenced(engine: Engine, onFenced: (rows: number) => void): Engine {
  return {
    ...engine,
    async insert(table, columns, rows) {
      try {
        await engine.insert(table, columns, rows);
      } catch (error) {
        if (isFenced(error)) onFenced(rows.length);
        throw error;
      }
    },
  };
}
