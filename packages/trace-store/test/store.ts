import { randomUUID } from "node:crypto";
import { testConnection } from "@heddle/embedded-clickhouse/testing";
import { connectEngine } from "../src/engine/engine.js";
import type { Engine } from "../src/engine/engine.js";
import { openTraceStore } from "../src/store.js";
import type { TraceStore, TraceStoreOptions } from "../src/store.js";

export const testControlPlane = "0199a000-0000-7000-8000-000000000001";

/** A database of its own on the engine of the test run. */
export interface TestDatabase {
  name: string;
  /** Straight to the engine, to look behind the store. */
  engine: Engine;
  /** Opens the store on this database, as often as a test wants; the last one is closed by `drop`. */
  open(options?: Partial<TraceStoreOptions>): Promise<TraceStore>;
  /** Takes a column of calls away, and what is recorded of migrations, as in a database of before the column was. */
  dropColumn(column: string): Promise<void>;
  drop(): Promise<void>;
}

export function testDatabase(): TestDatabase {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  // Every client has an agent of its own: on a shared one, each closes sockets that another is using.
  const engine = connectEngine(testConnection(), name);
  const opened: TraceStore[] = [];
  return {
    name,
    engine,
    async open(options) {
      const store = await openTraceStore({
        client: testConnection(),
        database: name,
        controlPlaneId: testControlPlane,
        ...options,
      });
      opened.push(store);
      return store;
    },
    async dropColumn(column) {
      for (const table of ["calls", "call_parts"]) {
        await engine.command({ sql: `ALTER TABLE ${table} DROP COLUMN ${column}` });
      }
      await engine.command({ sql: "TRUNCATE TABLE schema_migrations" });
    },
    async drop() {
      for (const store of opened) await store.close();
      await engine.close();
      const bootstrap = connectEngine(testConnection(), "default");
      await bootstrap.command({ sql: `DROP DATABASE IF EXISTS ${name}` });
      await bootstrap.close();
    },
  };
}
