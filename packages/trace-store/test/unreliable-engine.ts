import { HeddleError } from "@heddle/errors";
import type { Engine } from "../src/engine/engine.js";

/** A fault that waits for the next insert into a table. */
interface Fault {
  table: string;
  /** Whether the rows are stored although the insert fails. */
  applied: boolean;
}

/** Stands between a store and its engine and breaks connections on demand. */
export interface UnreliableEngine {
  wrap: (engine: Engine) => Engine;
  /** The next insert into the table fails as if the connection broke: after the rows were stored, or before. */
  breakNext(table: string, applied: boolean): void;
  /** While down, every statement fails. */
  down: boolean;
  /** Table and number of rows of each insert that reached the engine. */
  inserts: Array<{ table: string; rows: number }>;
}

export function unreliableEngine(): UnreliableEngine {
  const faults: Fault[] = [];
  const self: UnreliableEngine = {
    down: false,
    inserts: [],
    breakNext: (table, applied) => faults.push({ table, applied }),
    wrap: (engine) => ({
      ...engine,
      rows: async (statement, options) => {
        if (self.down) throw broken();
        return await engine.rows(statement, options);
      },
      stream: (statement, options) => {
        if (self.down) throw broken();
        return engine.stream(statement, options);
      },
      insert: async (table, columns, rows) => {
        if (self.down) throw broken();
        const index = faults.findIndex((fault) => fault.table === table);
        const [fault] = index < 0 ? [] : faults.splice(index, 1);
        if (fault === undefined || fault.applied) {
          await engine.insert(table, columns, rows);
          self.inserts.push({ table, rows: rows.length });
        }
        if (fault !== undefined) throw broken();
      },
    }),
  };
  return self;
}

function broken(): HeddleError {
  return new HeddleError("busy", "connection broken by the test");
}
