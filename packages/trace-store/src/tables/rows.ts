import { HeddleError } from "@heddle/errors";
import type { Loc } from "@heddle/errors";
import { jsonType, readable } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { valueDigest } from "@heddle/trace-model";
import { mainThread } from "@heddle/concurrency";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { encodeRow, rowColumns } from "../encoding/encode-row.js";
import { digestOfLargeRow, encodeLargeRow, isLarge } from "../encoding/large-values.js";
import { allRows } from "../schema/read-table.js";

/** Approximate size of one insert. */
const insertBytes = 8 * 1024 * 1024;
/** After so long, others get the event loop. The clock is read once per so many rows or characters. */
const sliceMs = 4;
const rowsPerClockCheck = 64;
const charactersPerClockCheck = 16_384;

/** The turns in which rows are worked on. */
class Slices {
  #rows = 0;
  #characters = 0;
  #began = performance.now();

  /** Whether others have the event loop before the next row. */
  isOver(row: JsonText): boolean {
    this.#characters += row.length;
    if (++this.#rows < rowsPerClockCheck && this.#characters < charactersPerClockCheck) return false;
    this.#rows = 0;
    this.#characters = 0;
    return performance.now() - this.#began > sliceMs;
  }

  async next(): Promise<void> {
    await mainThread.giveWay();
    this.#began = performance.now();
  }
}

/** Returns the digests of rows in order. Throws `invalid`, with the loc of the row, for one that is not an object. */
export async function rowDigests(rows: readonly JsonText[], locOf: (index: number) => Loc): Promise<string[]> {
  const digests: string[] = [];
  const slices = new Slices();
  for (const [index, row] of rows.entries()) {
    if (jsonType(row) !== "object") throw new HeddleError("invalid", "a row must be an object", { loc: locOf(index) });
    if (slices.isOver(row)) await slices.next();
    digests.push(isLarge(row) ? await digestOfLargeRow(row) : valueDigest(row));
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
  const slices = new Slices();
  const done = new Set<string>();
  let written: Uint8Array[] = [];
  let bytes = 0;
  const flush = async () => {
    if (written.length > 0) await engine.insert("table_rows", rowColumns, written);
    written = [];
    bytes = 0;
  };
  for (const [index, row] of rows.entries()) {
    const digest = digests[index] ?? "";
    if (done.has(digest)) continue;
    done.add(digest);
    if (slices.isOver(row)) await slices.next();
    const text = { project_id: projectId, digest, row };
    const line = isLarge(row) ? await encodeLargeRow(text) : encodeRow(text);
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
