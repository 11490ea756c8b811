import { createHash } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { Engine } from "../engine/engine.js";
import { createTable } from "../schema/create-table.js";
import { newestRows } from "../schema/read-table.js";
import { RowWriter } from "../engine/row-writer.js";
import { ddl } from "./ddl.js";
import type { Placement } from "./ddl.js";
import { allMigrations } from "./migrations.js";
import type { Migration } from "./migration.js";

/**
 * Migrates the database to this version, and resolves when every table exists. `bootstrap` is connected to a database
 * that exists already. Every statement runs at every start: a table created seconds before a power loss can be gone.
 *
 * Throws `incompatible` when the database is newer, or a step of it is not the step we know.
 */
export async function migrate(
  bootstrap: Engine,
  placement: Placement,
  migrations: readonly Migration[] = allMigrations,
): Promise<void> {
  const { database } = placement;
  await bootstrap.command({ sql: ddl("CREATE DATABASE IF NOT EXISTS {DB} {OC}", placement) });
  await bootstrap.command({ sql: ddl(createTable("schema_migrations"), placement) });
  const applied = await bootstrap.rows<{ version: number; name: string; checksum: string }>({
    sql: `SELECT version, name, checksum FROM ${database}.${newestRows("schema_migrations")} ORDER BY version`,
  });
  const newest = applied.at(-1)?.version ?? 0;
  const known = migrations.at(-1)?.version ?? 0;
  if (newest > known) {
    throw new HeddleError(
      "incompatible",
      `The tracing database "${database}" has schema version ${newest}, this Heddle knows ${known}: start the version that wrote it, or a newer one`,
    );
  }
  for (const step of migrations) {
    const before = applied.find(({ version }) => version === step.version);
    if (before !== undefined && before.checksum !== checksumOf(step)) {
      throw new HeddleError(
        "incompatible",
        `The tracing database "${database}" was made by another build: its schema step ${step.version} ("${before.name}") is not ours`,
      );
    }
    for (const statement of joined(step.statements)) await bootstrap.command({ sql: ddl(statement, placement) });
    if (before === undefined) {
      const row = new RowWriter();
      const applied = row.rowOf(() => {
        row.integer(step.version);
        row.text(step.name);
        row.text(checksumOf(step));
      });
      await bootstrap.insert(`${database}.schema_migrations`, ["version", "name", "checksum"], [applied]);
    }
  }
}

/** Changes of one table that follow each other as one statement: each costs the engine as much as all of them. */
function joined(statements: readonly string[]): string[] {
  const all: string[] = [];
  let last = "";
  for (const statement of statements) {
    const table = /^ALTER TABLE \S+ \{OC\} (?=ADD COLUMN )/.exec(statement)?.[0] ?? "";
    if (table !== "" && table === last) all.push(`${all.pop()}, ${statement.slice(table.length)}`);
    else all.push(statement);
    last = table;
  }
  return all;
}

/** Over the words of the statements, so that reformatting changes nothing. */
function checksumOf({ version, name, statements }: Migration): string {
  const words = statements.map((statement) => statement.split(/\s+/).join(" "));
  return createHash("sha256")
    .update(JSON.stringify([version, name, words]))
    .digest("hex");
}
