import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { RowWriter } from "../engine/row-writer.js";
import type { TableOf } from "./requests.js";
import { allRows } from "../schema/read-table.js";

/** Stores the order of a table's rows under its digest. */
export async function insertTable(
  engine: Engine,
  { project_id, digest }: TableOf,
  rowDigests: readonly string[],
): Promise<void> {
  const writer = new RowWriter();
  const row = writer.rowOf(() => {
    writer.text(project_id);
    writer.text(digest);
    writer.texts(rowDigests);
  });
  await engine.insert("tables", ["project_id", "digest", "row_digests"], [row]);
}

/** The row digests from one position on, in order; undefined for an unknown table. */
export async function tableRowDigests(
  engine: Engine,
  { project_id, digest }: TableOf,
  { offset = 0, limit }: { offset?: number; limit?: number } = {},
  signal?: AbortSignal,
): Promise<string[] | undefined> {
  const p = new Parameters();
  const from = p.bind("UInt64", offset + 1);
  const slice = limit === undefined ? from : `${from}, ${p.bind("UInt64", limit)}`;
  const sql = `SELECT arraySlice(row_digests, ${slice}) AS page FROM ${allRows("tables")}
    WHERE project_id = ${p.bind("String", project_id)} AND digest = ${p.bind("String", digest)} LIMIT 1`;
  const [row] = await engine.rows<{ page: string[] }>({ sql, params: p }, { signal });
  return row?.page;
}

/** Returns for each of the tables, by project and digest on two lines, those of the row digests that it contains. */
export async function rowsInTables(
  engine: Engine,
  { projects, tables, rows }: Record<"projects" | "tables" | "rows", readonly string[]>,
  signal: AbortSignal | undefined,
): Promise<Map<string, Set<string>>> {
  const p = new Parameters();
  const wanted = p.lists("String", rows).map((list) => `arrayIntersect(row_digests, ${list})`);
  const sql = `SELECT project_id, digest, arrayConcat(${wanted.join(", ")}) AS present FROM ${allRows("tables")}
    WHERE ${p.in("project_id", "String", projects)} AND ${p.in("digest", "String", tables)} LIMIT 1 BY project_id, digest`;
  type Row = { project_id: string; digest: string; present: string[] };
  const found = await engine.rows<Row>({ sql, params: p }, { signal });
  return new Map(found.map(({ project_id, digest, present }) => [`${project_id}\n${digest}`, new Set(present)]));
}
