import { defaultDatabase, schema } from "./schema.js";
import type { TableName } from "./schema.js";

/** Runs one statement to its end. Resolves to its rows as text, one per line. */
export type RunStatement = (sql: string) => Promise<string[]>;

/**
 * Backs up every table of the tracing database into the folder `to` of the engine's directory for backups, and returns
 * how many there are. Safe while the store writes. Tables that the schema does not know are backed up, too.
 */
export async function backupTables(run: RunStatement, to: string, database: string = defaultDatabase): Promise<number> {
  const tables = await tablesOf(run, database);
  for (const phase of [0, 1, 2]) {
    const list = tables.filter((table) => phaseOf(table) === phase).map((table) => `TABLE ${database}.${table}`);
    if (list.length > 0) await run(`BACKUP ${list.join(", ")} TO File('${to}/${phase}')`);
  }
  return tables.length;
}

function phaseOf(table: string): 0 | 1 | 2 {
  return Object.hasOwn(schema, table) ? schema[table as TableName].backupPhase : 2;
}

/** Restores what {@link backupTables} wrote to the folder `from`, and returns how many tables there are. */
export async function restoreTables(
  run: RunStatement,
  from: string,
  phases: readonly string[],
  database: string = defaultDatabase,
): Promise<number> {
  await run(`CREATE DATABASE IF NOT EXISTS ${database}`);
  for (const phase of phases) await run(`RESTORE ALL FROM File('${from}/${phase}')`);
  return (await tablesOf(run, database)).length;
}

async function tablesOf(run: RunStatement, database: string): Promise<string[]> {
  return await run(`SELECT name FROM system.tables WHERE database = '${database}' AND NOT is_temporary`);
}
