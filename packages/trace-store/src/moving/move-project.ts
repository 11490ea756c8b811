import { HeddleError } from "@heddle/errors";
import { connectEngine } from "../engine/engine.js";
import type { Engine, EngineConnection } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { tableFacts } from "../schema/schema.js";
import type { TableFacts } from "../schema/table-facts.js";
import { openTraceStore } from "../store.js";

/** A tracing database into which nobody else writes. */
export interface IdleDatabase {
  client: EngineConnection;
  database: string;
  /** Where its tables are replicated. */
  cluster?: string;
  controlPlaneId: string;
}

/** What a project has in one table. */
export interface MovedTable {
  table: string;
  rows: number;
}

/** A batch of rows is one insert. */
const batchBytes = 16 * 1024 * 1024;
const batchRows = 100_000;
const deleteSettings = { mutations_sync: "2" } as const;

const tables = tableFacts.filter(([, { columns }]) => columns.startsWith("project_id "));

/**
 * Copies what a project has from one database to another, and compares both. What is left there of an earlier attempt is
 * deleted before. Throws `failed` where the copy is not the same; what the project has in the first one is not touched.
 */
export async function copyProject(projectId: string, from: IdleDatabase, to: IdleDatabase): Promise<MovedTable[]> {
  // Completes what a crash has left, and makes the tables.
  for (const database of [from, to]) await (await openTraceStore(database)).close();
  const [source, target] = [connectEngine(from.client, from.database), connectEngine(to.client, to.database)];
  try {
    const moved: MovedTable[] = [];
    for (const [table, facts] of tables) {
      await deleteRows(target, table, projectId);
      const columns = await columnsOf(source, table, from.database);
      await copyRows(projectId, { table, facts, columns }, source, target);
      const [before, after] = [
        await sumOf(source, projectId, { table, facts, columns }),
        await sumOf(target, projectId, { table, facts, columns }),
      ];
      if (before.rows !== after.rows || before.hash !== after.hash) {
        const message = `the copy of the table ${table} is not the same: ${after.rows} rows of ${before.rows}`;
        throw new HeddleError("failed", message);
      }
      if (Number(before.rows) > 0) moved.push({ table, rows: Number(before.rows) });
    }
    return moved;
  } finally {
    await source.close();
    await target.close();
  }
}

/** Deletes what a project has in a database that it has left. May be repeated after a failure. */
export async function deleteCopy(projectId: string, { client, database }: IdleDatabase): Promise<void> {
  const engine = connectEngine(client, database);
  try {
    for (const [table] of tables) await deleteRows(engine, table, projectId);
  } finally {
    await engine.close();
  }
}

interface Copied {
  table: string;
  facts: TableFacts;
  /** In backticks. */
  columns: readonly string[];
}

async function copyRows(projectId: string, copied: Copied, source: Engine, target: Engine): Promise<void> {
  const { table, columns } = copied;
  const params = new Parameters();
  const sql = `SELECT formatRow('TabSeparated', ${columns.join(", ")}) AS line FROM ${table} WHERE ${condition(copied, projectId, params)}`;
  let lines: Buffer[] = [];
  let bytes = 0;
  const write = async () => {
    if (lines.length > 0) await target.insert(table, columns, lines);
    [lines, bytes] = [[], 0];
  };
  for await (const { line } of source.stream<{ line: string }>({ sql, params })) {
    const encoded = Buffer.from(line);
    lines.push(encoded);
    bytes += encoded.length;
    if (bytes >= batchBytes || lines.length >= batchRows) await write();
  }
  await write();
}

/** What does not depend on how the rows are merged. */
async function sumOf(engine: Engine, projectId: string, copied: Copied): Promise<{ rows: string; hash: string }> {
  const { table, facts, columns } = copied;
  const params = new Parameters();
  const final = facts.engine === "MergeTree" ? "" : "FINAL";
  const sql = `SELECT count() AS rows, sum(cityHash64(formatRow('TabSeparated', ${columns.join(", ")}))) AS hash
    FROM ${table} ${final} WHERE ${condition(copied, projectId, params)}`;
  const [sum] = await engine.rows<{ rows: string; hash: string }>({ sql, params });
  return sum ?? { rows: "0", hash: "0" };
}

/** Without rows that a merge drops at any moment. */
function condition({ facts }: Copied, projectId: string, params: Parameters): string {
  const ofProject = `project_id = ${params.bind("String", projectId)}`;
  return facts.ttlColumn === undefined ? ofProject : `${ofProject} AND ${facts.ttlColumn} > now()`;
}

async function columnsOf(engine: Engine, table: string, database: string): Promise<string[]> {
  const params = new Parameters();
  const sql = `SELECT name FROM system.columns WHERE database = ${params.bind("String", database)}
    AND table = ${params.bind("String", table)} AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') ORDER BY position`;
  return (await engine.rows<{ name: string }>({ sql, params })).map(({ name }) => `\`${name}\``);
}

async function deleteRows(engine: Engine, table: string, projectId: string): Promise<void> {
  const found = new Parameters();
  const any = `SELECT 1 FROM ${table} WHERE project_id = ${found.bind("String", projectId)} LIMIT 1`;
  // A statement that rewrites nothing takes its time, too.
  if ((await engine.rows({ sql: any, params: found })).length === 0) return;
  const params = new Parameters();
  const sql = `ALTER TABLE ${table} DELETE WHERE project_id = ${params.bind("String", projectId)}`;
  await engine.command({ sql, params }, { settings: deleteSettings });
}
