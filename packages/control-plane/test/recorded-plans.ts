import { onTestFinished } from "vitest";
import type { Database, SqlValue, Statements } from "../src/database/database.js";
import type { ControlPlaneMigration } from "../src/migrations/migrate.js";
import { migrate } from "../src/migrations/migrate.js";
import { openSqlite } from "../src/database/sqlite.js";

/** An SQLite database in memory that records what it is asked to read. */
export interface RecordedDatabase {
  database: Database;
  /** Forgets what was read. */
  clear(): void;
  /** How SQLite runs each statement that read: the steps of its query plan. */
  plans(): Promise<string[][]>;
}

export async function openRecorded(migrations: readonly ControlPlaneMigration[]): Promise<RecordedDatabase> {
  const database = openSqlite(":memory:");
  onTestFinished(async () => await database.close());
  await migrate(database, migrations, () => 0n);
  const sent: Array<[string, readonly SqlValue[]]> = [];
  const recorded = (statements: Statements): Statements => ({
    rows: async (sql, params = []) => {
      sent.push([sql, params]);
      return await statements.rows(sql, params);
    },
    run: async (sql, params) => await statements.run(sql, params),
  });
  return {
    database: {
      ...recorded(database),
      transaction: async (inside) =>
        await database.transaction(async (statements) => await inside(recorded(statements))),
      close: async () => {},
    },
    clear: () => void sent.splice(0),
    async plans() {
      const plans: string[][] = [];
      for (const [sql, params] of sent) {
        const steps = await database.rows(`EXPLAIN QUERY PLAN ${sql}`, params);
        plans.push(steps.map((step) => String(step["detail"])));
      }
      return plans;
    },
  };
}
