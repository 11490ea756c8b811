import { HeddleError } from "@heddle/errors";
import type { Loc } from "@heddle/errors";
import { jsonType, readable, storable } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { valueDigest } from "@heddle/trace-model";
import { mainThread } from "@heddle/concurrency";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { RowWriter } from "../engine/row-writer.js";
import { allRows } from "../schema/read-table.js";

/** Approximate size of one insert. */
const insertBytes = 8 * 1024 * 1024;
/** Digests are computed in slices, so that a large table does not block the event loop. */
const digestSlice = 500;

/** Returns the digests of rows in order. Throws `invalid`, with the loc of the row, for one that is not an object. */
export async function rowDigests(rows: readonly JsonText[], locOf: (index: number) => Loc): Promise<string[]> {
  const digests: string[] = [];
  for (const [index, row] of rows.entries()) {
    if (jsonType(row) !== "object") throw new HeddleError("invalid", "a row must be an object", { loc: locOf(index) });
    if (index % digestSlice === digestSlice - 1) await mainThread.giveWay();
    digests.push(valueDigest(row));
  }
  return digests;
}

/** Stores rows under their digests, equal ones once. */
export async function insertRows(
  engine: Engine,
  projectId: string,
  rows: readonly JsonText[],
  digests: readonly string[],
): Promise<void> {
  const writer = new RowWriter();
  const done = new Set<string>();
  let written: Uint8Array[] = [];
  let bytes = 0;
  const flush = async () => {
    if (written.length > 0) await engine.insert("table_rows", ["project_id", "digest", "val", "exact"], written);
    written = [];
    bytes = 0;
  };
  for (const [index, row] of rows.entries()) {
    const digest = digests[index] ?? "";
    if (done.has(digest)) continue;
    done.add(digest);
    const { text, exact = "" } = storable(row);
    const line = writer.rowOf(() => {
      for (const field of [projectId, digest, text, exact]) writer.text(field);
    });
    written.push(line);
    bytes += line.length;
    if (bytes >= insertBytes) await flush();
  }
  await flush();
}

interface StoredRow {
  project_id: string;
  digest: string;
  val: JsonText;
}

/** The stored rows of the projects among the digests. */
export async function* readRows(
  engine: Engine,
  projectIds: readonly string[],
  digests: readonly string[],
  signal?: AbortSignal,
): AsyncGenerator<StoredRow, void, undefined> {
  const p = new Parameters();
  const sql = `SELECT project_id, digest, val, exact FROM ${allRows("table_rows")}
    WHERE ${p.in("project_id", "String", projectIds)} AND ${p.in("digest", "String", [...new Set(digests)])}
    LIMIT 1 BY project_id, digest`;
  for await (const { exact, ...row } of engine.stream<StoredRow & { exact: string }>({ sql, params: p }, { signal })) {
    yield { ...row, val: readable(row.val, exact) };
  }
}

/** Bytes of the stored rows of the projects among the digests; those of equal digests are added up. */
export async function rowSizes(
  engine: Engine,
  projectIds: readonly string[],
  digests: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, number>> {
  const p = new Parameters();
  const sql = `SELECT digest, sum(row_bytes) AS bytes FROM (
    SELECT digest, any(size_bytes) AS row_bytes FROM ${allRows("table_rows")}
    WHERE ${p.in("project_id", "String", projectIds)} AND ${p.in("digest", "String", [...new Set(digests)])}
    GROUP BY project_id, digest) GROUP BY digest`;
  const rows = await engine.rows<{ digest: string; bytes: string }>({ sql, params: p }, { signal });
  return new Map(rows.map(({ digest, bytes }) => [digest, Number(bytes)]));
}
