import { mainThread } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { Database, SqlValue, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { batches, Parameters } from "../database/parameters.js";
import type { ReserveRows } from "../database/reserve.js";
import { originalText, storedText } from "../database/stored-text.js";

const maxHistoryRows = 1_000_000;
/** Of one transaction, and of one read: as long as it lasts, no other statement of the process runs. */
const slice = { rows: 500, length: 262_144 };

/** Of transactions that are about one run: those of others do not wait for them. */
export const runSubject = ({ project_id, name }: { project_id: string; name: string }): string =>
  `run ${project_id}/${name}`;

interface NewRows {
  subject: string;
  start: number;
  rows: readonly string[];
  now: bigint;
  signal?: AbortSignal;
}

/**
 * Stores rows in one transaction after the other, so that others get their turn; those before an error stay. `idOf` finds
 * the run, and throws where it is not there any more.
 */
export async function writeHistory(
  database: Database,
  idOf: (statements: Statements) => Promise<string>,
  { subject, start, rows, now, signal }: NewRows,
): Promise<void> {
  if (start + rows.length > maxHistoryRows) {
    throw new HeddleError("too_large", `a run has at most ${maxHistoryRows} rows of history`);
  }
  for (let from = 0; ;) {
    const to = sliceEnd(from, rows.length, (at) => rows[at]?.length ?? 0);
    await database.transaction(async (statements) => {
      const id = await idOf(statements);
      await insertRows(statements, id, start + from, rows.slice(from, to));
      await statements.run(
        `UPDATE tracking_runs SET updated_at = $2, history_rows =
          (SELECT COALESCE(MAX(position) + 1, 0) FROM tracking_run_history WHERE run_id = $1) WHERE id = $1`,
        [id, now],
      );
    }, subject);
    if (to >= rows.length) return;
    from = to;
    await mainThread.giveWay();
    signal?.throwIfAborted();
  }
}

async function insertRows(
  statements: Statements,
  runId: string,
  start: number,
  rows: readonly string[],
): Promise<void> {
  let position = BigInt(start);
  for (const some of batches(rows)) {
    const p = new Parameters();
    const values = some.map((row) => `(${p.bind(runId)}, ${p.bind(position++)}, ${p.bind(storedText(row))})`);
    await statements.run(
      `INSERT INTO tracking_run_history (run_id, position, row_json) VALUES ${values.join(", ")}
        ON CONFLICT (run_id, position) DO UPDATE SET row_json = excluded.row_json`,
      p.values,
    );
  }
}

/** Reads rows slice by slice, after all of them were reserved. */
export async function readHistory(
  database: Database,
  runId: string,
  { start, limit }: { start: number; limit: number },
  reserve?: ReserveRows,
): Promise<string[]> {
  const positions: bigint[] = [];
  const sizes: number[] = [];
  for (let next = BigInt(start); positions.length < limit;) {
    const some = await database.rows(
      `SELECT position, octet_length(row_json) AS bytes FROM tracking_run_history
        WHERE run_id = $1 AND position >= $2 ORDER BY position LIMIT $3`,
      [runId, next, BigInt(Math.min(slice.rows, limit - positions.length))],
    );
    for (const row of some) {
      positions.push(integerOf(row, "position"));
      sizes.push(Number(integerOf(row, "bytes")));
    }
    if (some.length < slice.rows) break;
    next = (positions.at(-1) ?? 0n) + 1n;
    await mainThread.giveWay();
  }
  await reserve?.(
    sizes.reduce((sum, bytes) => sum + bytes, 0),
    sizes.length,
  );
  const found: string[] = [];
  for (let from = 0; from < positions.length;) {
    const to = sliceEnd(from, positions.length, (at) => sizes[at] ?? 0);
    const rows = await database.rows(
      `SELECT row_json FROM tracking_run_history
        WHERE run_id = $1 AND position BETWEEN $2 AND $3 ORDER BY position`,
      [runId, positions[from] ?? 0n, positions[to - 1] ?? 0n],
    );
    for (const row of rows) found.push(originalText(textOf(row, "row_json")));
    from = to;
    await mainThread.giveWay();
  }
  return found;
}

export interface HistoryRow {
  position: number;
  /** JSON text. */
  text: string;
}

/** Reads rows from a position on, slice by slice, so that others get their turn, and no more is in memory. */
export async function* historySlices(database: Database, runId: string, start: number): AsyncGenerator<HistoryRow[]> {
  const from = "FROM tracking_run_history WHERE run_id = $1 AND position >= $2 ORDER BY position LIMIT $3";
  for (let next = BigInt(start); ;) {
    const params = [runId, next, BigInt(slice.rows)];
    // One row of sums: a row for each size would cost as much as the rows themselves.
    const [sum = {}] = await database.rows(
      `SELECT COUNT(*) AS n, CAST(COALESCE(SUM(octet_length(row_json)), 0) AS BIGINT) AS bytes
        FROM (SELECT row_json ${from}) AS slice`,
      params,
    );
    const count = integerOf(sum, "n");
    if (count === 0n) return;
    const isShort = integerOf(sum, "bytes") <= BigInt(slice.length);
    const limits = isShort ? [count] : await sliceLimits(database, from, params);
    for (const limit of limits) {
      const rows = await database.rows(`SELECT position, row_json ${from}`, [runId, next, limit]);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows.map((row) => ({
        position: Number(integerOf(row, "position")),
        text: originalText(textOf(row, "row_json")),
      }));
      next = integerOf(last, "position") + 1n;
      await mainThread.giveWay();
    }
    if (count < BigInt(slice.rows)) return;
  }
}

/** Numbers of rows that are read at once, so that none of it is too long. */
async function sliceLimits(database: Database, from: string, params: readonly SqlValue[]): Promise<bigint[]> {
  const sizes = (await database.rows(`SELECT octet_length(row_json) AS bytes ${from}`, params)).map((row) =>
    Number(integerOf(row, "bytes")),
  );
  const limits: bigint[] = [];
  for (let at = 0; at < sizes.length;) {
    const to = sliceEnd(at, sizes.length, (index) => sizes[index] ?? 0);
    limits.push(BigInt(to - at));
    at = to;
  }
  return limits;
}

/** Deletes the rows of a run slice by slice. */
export async function deleteHistory(database: Database, runId: string): Promise<void> {
  for (;;) {
    const [last] = await database.rows(
      `SELECT MAX(position) AS position FROM
        (SELECT position FROM tracking_run_history WHERE run_id = $1 ORDER BY position LIMIT $2) AS slice`,
      [runId, BigInt(slice.rows)],
    );
    const position = last?.["position"];
    if (typeof position !== "bigint") return;
    await database.run("DELETE FROM tracking_run_history WHERE run_id = $1 AND position <= $2", [runId, position]);
    await mainThread.giveWay();
  }
}

/** The end of the slice that begins at `from`: it has at least one row. */
function sliceEnd(from: number, end: number, lengthAt: (at: number) => number): number {
  let length = 0;
  let to = from;
  while (to < end && to - from < slice.rows && (to === from || length + lengthAt(to) <= slice.length)) {
    length += lengthAt(to);
    to++;
  }
  return to;
}
