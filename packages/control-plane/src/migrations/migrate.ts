import { HeddleError } from "@heddle/errors";
import type { Database } from "../database/database.js";
import { integerOf } from "../database/database.js";

/** A numbered step of the schema. Once released it never changes; what comes later is a further step. */
export interface ControlPlaneMigration {
  version: number;
  name: string;
  statements: readonly string[];
}

/**
 * Brings a database up to the last of `migrations`, all steps in one transaction. A database that a later version of
 * the program has migrated is refused as `incompatible` and left as it is.
 */
export async function migrate(
  database: Database,
  migrations: readonly ControlPlaneMigration[],
  now: () => bigint,
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
  });
}
