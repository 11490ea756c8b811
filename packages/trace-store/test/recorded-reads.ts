import type { Engine, Statement, StatementSource } from "../src/engine/engine.js";

/** Stands between a store and its engine, and records the statements that read. */
export interface RecordedReads {
  wrap: (engine: Engine) => Engine;
  /** In the order in which they were sent. */
  sent: Statement[];
  /** Runs once, before the next statement whose rows are read whole. */
  beforeNextRows: (() => Promise<void>) | undefined;
  /** Whether a recorded statement names the table. */
  readsTable(table: string): boolean;
  /** Forgets what was recorded, and what was to run. */
  reset(): void;
}

export function recordedReads(): RecordedReads {
  const record = (source: StatementSource): Statement => {
    const statement = typeof source === "function" ? source() : source;
    self.sent.push(statement);
    return statement;
  };
  const self: RecordedReads = {
    sent: [],
    beforeNextRows: undefined,
    wrap: (engine) => ({
      ...engine,
      async rows(source, options) {
        const statement = record(source);
        const { beforeNextRows } = self;
        self.beforeNextRows = undefined;
        await beforeNextRows?.();
        return await engine.rows(statement, options);
      },
      stream: (source, options) => engine.stream(record(source), options),
    }),
    readsTable: (table) => self.sent.some(({ sql }) => sql.includes(table)),
    reset() {
      self.sent.length = 0;
      self.beforeNextRows = undefined;
    },
  };
  return self;
}
