import type { Engine } from "../../engine/engine.js";
import { StatementError } from "../../engine/statement-error.js";
import { Parameters } from "../../engine/parameters.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import { keyText } from "../../stored-calls/call-key.js";
import { isOneOf } from "./read-stored.js";

/** A row to be inserted, and the call it belongs to. */
export interface PendingRow extends CallKey {
  bytes: Uint8Array;
}

export interface RefusedRow<Row> {
  row: Row;
  message: string;
}

/** ClickHouse errors that one row can cause; any other error is no reason to look for a bad row. */
const rowFaults = new Set([
  6, 25, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 131, 190, 321, 349, 407, 411, 441, 467, 469, 675, 676, 691,
]);

/**
 * Inserts rows that belong to one version. When the engine refuses one of them the batch is split until that row
 * is alone: it is returned, all others are stored. Anything else is thrown; what is stored is then unknown.
 */
export async function insertRows<Row extends PendingRow>(
  engine: Engine,
  table: string,
  columns: readonly string[],
  rows: readonly Row[],
  version: bigint,
): Promise<RefusedRow<Row>[]> {
  if (rows.length === 0) return [];
  let refused: StatementError;
  try {
    await engine.insert(
      table,
      columns,
      rows.map(({ bytes }) => bytes),
    );
    return [];
  } catch (error) {
    if (!(error instanceof StatementError) || !rowFaults.has(error.number)) throw error;
    refused = error;
  }
  const [only] = rows;
  if (rows.length === 1 && only !== undefined) return [{ row: only, message: refused.message }];
  // An insert of several blocks can be stored in part.
  const stored = await storedUnder(engine, table, rows, version);
  const rest = rows.filter((row) => !stored.has(keyText(row)));
  const middle = Math.ceil(rest.length / 2);
  return [
    ...(await insertRows(engine, table, columns, rest.slice(0, middle), version)),
    ...(await insertRows(engine, table, columns, rest.slice(middle), version)),
  ];
}

async function storedUnder(
  engine: Engine,
  table: string,
  rows: readonly CallKey[],
  version: bigint,
): Promise<Set<string>> {
  const params = new Parameters();
  const sql = `SELECT project_id, id FROM ${table} WHERE version = ${params.bind("UInt64", version)} AND ${isOneOf(params, rows)}`;
  const stored = await engine.rows<CallKey>({ sql, params });
  return new Set(stored.map(keyText));
}
