import type { Engine } from "./engine.js";

/** `read`: rows or a stream. `command`: DDL and maintenance. */
export type StatementKind = "read" | "insert" | "command";

export interface ObservedStatement {
  kind: StatementKind;
  /** Until the last row was taken, or the rows were stored. */
  ms: number;
  failed: boolean;
}

/** Returns an engine that reports each statement when it has ended. Nothing that `observe` throws is caught. */
export function observeStatements(engine: Engine, observe: (statement: ObservedStatement) => void): Engine {
  async function timed<T>(kind: StatementKind, run: () => Promise<T>): Promise<T> {
    const began = performance.now();
    let failed = true;
    try {
      const result = await run();
      failed = false;
      return result;
    } finally {
      observe({ kind, ms: performance.now() - began, failed });
    }
  }
  return {
    ...engine,
    rows: (statement, options) => timed("read", () => engine.rows(statement, options)),
    async *stream(statement, options) {
      const began = performance.now();
      let failed = false;
      try {
        yield* engine.stream(statement, options);
      } catch (error) {
        failed = true;
        throw error;
      } finally {
        observe({ kind: "read", ms: performance.now() - began, failed });
      }
    },
    insert: (table, columns, rows) => timed("insert", () => engine.insert(table, columns, rows)),
    command: (statement, options) => timed("command", () => engine.command(statement, options)),
  };
}
