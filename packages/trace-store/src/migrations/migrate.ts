import { createHash } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { Engine } from "../engine/engine.js";
import { createTable } from "../schema/create-table.js";
import { isUnknownTable } from "../engine/statement-error.js";
import { newestRows } from "../schema/read-table.js";
import { tableFacts } from "../schema/schema.js";
import { RowWriter } from "../engine/row-writer.js";
import { ddl } from "./ddl.js";
import type { Placement } from "./ddl.js";
import { allMigrations } from "./migrations.js";
import type { Migration } from "./migration.js";

/**
 * Migrates a database that exists to this version, and resolves when every table of it exists. Steps that were applied
 * lately count as well, unless the engine is the process that applied them: what they did seconds before a power loss can be
 * gone.
 *
 * Throws `incompatible` when the database is newer, or a step of it is not the step we know.
 */
export async function migrate(
  bootstrap: Engine,
  placement: Placement,
  migrations: readonly Migration[] = allMigrations,
): Promise<void> {
  const { database } = placement;
  const additions = migrations.filter(({ isAddition }) => isAddition === true);
  const [applied, existing, lacksAny] = await Promise.all([
    appliedSteps(bootstrap, placement),
    existingTables(bootstrap, placement),
    lacksColumns(bootstrap, placement, additions),
  ]);
  const newest = applied.at(-1)?.version ?? 0;
  const known = migrations.at(-1)?.version ?? 0;
  if (newest > known) {
    throw new HeddleError(
      "incompatible",
      `The tracing database "${database}" has schema version ${newest}, this Heddle knows ${known}: start the version that wrote it, or a newer one`,
    );
  }
  const steps: Migration[] = [];
  for (const step of migrations) {
    const before = applied.find(({ version }) => version === step.version);
    if (before === undefined) {
      if (step.isAddition !== true) steps.push(step);
    } else if (before.checksum !== checksumOf(step)) {
      throw new HeddleError(
        "incompatible",
        `The tracing database "${database}" was made by another build: its schema step ${step.version} ("${before.name}") is not ours`,
      );
    }
  }
  const statements = byTable(migrations.flatMap((step) => step.statements));
  const isWhole = statements.every(({ table }) => existing.has(table));
  if (steps.length === 0 && !lacksAny && isWhole && applied.every(({ kept }) => kept === 1)) return;
  for (const { table, statement } of statements) {
    if (statement.startsWith("CREATE ") && existing.has(table)) continue;
    await bootstrap.command({ sql: ddl(statement, placement) });
  }
  if (steps.length > 0) await record(bootstrap, database, steps);
}

/** Where tables are replicated: the server has what the others acknowledged, before anything is read from it. */
export async function catchUpWithReplicas(bootstrap: Engine, placement: Placement): Promise<void> {
  for (const statement of catchUpStatements(placement)) await bootstrap.command({ sql: statement });
}

export const catchUpStatements = ({ database, cluster }: Placement): string[] =>
  cluster === undefined ? [] : tableFacts.map(([table]) => `SYSTEM SYNC REPLICA ${database}.${table} LIGHTWEIGHT`);

interface AppliedStep {
  version: number;
  name: string;
  checksum: string;
  /** 1 where what it did cannot be gone. */
  kept: number;
}

async function appliedSteps(bootstrap: Engine, placement: Placement): Promise<AppliedStep[]> {
  const { database, cluster } = placement;
  const byThisProcess = "applied_at >= now64(3) - toIntervalSecond(uptime()) AND applied_at <= now64(3)";
  const longAgo = "applied_at < now64(3) - INTERVAL 1 DAY";
  const sql = `SELECT version, name, checksum, toUInt8((${byThisProcess}) OR ${longAgo}) AS kept
    FROM ${database}.${newestRows("schema_migrations")} ORDER BY version`;
  if (cluster === undefined) {
    try {
      return await bootstrap.rows<AppliedStep>({ sql });
    } catch (error) {
      if (!isUnknownTable(error)) throw error;
    }
  }
  await bootstrap.command({ sql: ddl(createTable("schema_migrations"), placement) });
  return await bootstrap.rows<AppliedStep>({ sql });
}

async function record(bootstrap: Engine, database: string, steps: readonly Migration[]): Promise<void> {
  const row = new RowWriter();
  const rows = steps.map((step) =>
    row.rowOf(() => {
      row.integer(step.version);
      row.text(step.name);
      row.text(checksumOf(step));
    }),
  );
  await bootstrap.insert(`${database}.schema_migrations`, ["version", "name", "checksum"], rows);
}

/** Whether the database lacks a column that one of the steps adds. */
async function lacksColumns(bootstrap: Engine, { database }: Placement, steps: readonly Migration[]): Promise<boolean> {
  const added = steps.flatMap((step) => step.statements).map(addedColumn);
  if (added.length === 0) return false;
  const rows = await bootstrap.rows<{ found: string }>({
    sql: `SELECT concat(table, '.', name) AS found FROM system.columns WHERE database = '${database}'`,
  });
  const existing = new Set(rows.map(({ found }) => found));
  return !added.every((column) => existing.has(column));
}

function addedColumn(statement: string): string {
  const [, table, column] = /^ALTER TABLE \{DB\}\.(\w+) \{OC\} ADD COLUMN IF NOT EXISTS (\w+) /.exec(statement) ?? [];
  if (table === undefined) throw new TypeError(`an addition does not add a column: ${statement}`);
  return `${table}.${column}`;
}

/** Tables that need not be created: none on a cluster, where another node may lack them. */
async function existingTables(bootstrap: Engine, { database, cluster }: Placement): Promise<Set<string>> {
  if (cluster !== undefined) return new Set();
  const rows = await bootstrap.rows<{ name: string }>({
    sql: `SELECT name FROM system.tables WHERE database = '${database}'`,
  });
  return new Set(rows.map(({ name }) => name));
}

/**
 * The statements of each table, its new columns as one statement: each costs the engine about as much as all of them.
 * Statements of different tables do not depend on each other. A change of a column that the same statement adds is lost.
 */
function byTable(statements: readonly string[]): Array<{ table: string; statement: string }> {
  const tables = new Map<string, { table: string; statement: string }[]>();
  for (const statement of statements) {
    const [, table] = /^(?:CREATE TABLE IF NOT EXISTS|ALTER TABLE) \{DB\}\.(\w+) \{OC\} /.exec(statement) ?? [];
    if (table === undefined) throw new TypeError(`not a statement about one table: ${statement}`);
    const mine = tables.get(table) ?? [];
    tables.set(table, mine);
    const alter = `ALTER TABLE {DB}.${table} {OC} `;
    const adds = `${alter}ADD COLUMN `;
    const last = mine.at(-1);
    if (last?.statement.startsWith(adds) && statement.startsWith(adds)) {
      last.statement += `, ${statement.slice(alter.length)}`;
    } else {
      mine.push({ table, statement });
    }
  }
  return [...tables.values()].flat();
}

/** Over the words of the statements, so that reformatting changes nothing. */
function checksumOf({ version, name, statements }: Migration): string {
  const words = statements.map((statement) => statement.split(/\s+/).join(" "));
  return createHash("sha256")
    .update(JSON.stringify([version, name, words]))
    .digest("hex");
}
