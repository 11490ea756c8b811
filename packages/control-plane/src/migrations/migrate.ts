import { HeddleError } from "@heddle/errors";
import type { Database, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";

/** A numbered step of the schema. Once released it never changes; what comes later is a further step. */
export interface ControlPlaneMigration {
  version: number;
  name: string;
  statements: readonly string[];
}

/**
 * A step beside the numbered ones which programs that do not know it need not heed: replicas of the version before go on
 * next to those of this one, and an update can be taken back. Once released it never changes.
 */
export interface ControlPlaneAddition {
  name: string;
  statements: readonly string[];
}

/**
 * Brings a database up to the last of `migrations` and `additions`, all steps in one transaction. A database with a
 * numbered step of a later version of the program is refused as `incompatible` and left as it is: the numbers say which
 * program is the oldest that can work on it.
 */
export async function migrate(
  database: Database,
  migrations: readonly ControlPlaneMigration[],
  now: () => bigint,
  additions: readonly ControlPlaneAddition[] = [],
): Promise<void> {
  await database.transaction(async (statements) => {
    await statements.run(
      "CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)",
    );
    const applied = await statements.rows("SELECT version FROM schema_migrations ORDER BY version");
    const versions = new Set(applied.map((row) => Number(integerOf(row, "version"))));
    const known = Math.max(0, ...migrations.map(({ version }) => version));
    const found = Math.max(0, ...versions);
    if (found > known) {
      throw new HeddleError(
        "incompatible",
        `the control-plane database has version ${found}, this program knows ${known}: run the newer program again`,
      );
    }
    for (const { version, name, statements: steps } of migrations) {
      if (versions.has(version)) continue;
      for (const step of steps) await statements.run(step);
      await statements.run("INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, $2, $3)", [
        BigInt(version),
        name,
        now(),
      ]);
    }
    await add(statements, additions, now);
  });
}

async function add(
  statements: Statements,
  additions: readonly ControlPlaneAddition[],
  now: () => bigint,
): Promise<void> {
  if (additions.length === 0) return;
  await statements.run(
    "CREATE TABLE IF NOT EXISTS schema_additions (name TEXT PRIMARY KEY, applied_at BIGINT NOT NULL)",
  );
  const rows = await statements.rows("SELECT name FROM schema_additions");
  const applied = new Set(rows.map((row) => textOf(row, "name")));
  for (const { name, statements: steps } of additions) {
    if (applied.has(name)) continue;
    for (const step of steps) await statements.run(step);
    await statements.run("INSERT INTO schema_additions (name, applied_at) VALUES ($1, $2)", [name, now()]);
  }
}
