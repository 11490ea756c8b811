import { HeddleError } from "@heddle/errors";
import type { Row, SqlValue, Statements } from "./database.js";
import { integerOf } from "./database.js";
import { isStorable } from "./names.js";
import { Parameters } from "./parameters.js";
import type { ReserveRows } from "./reserve.js";

/** Absent: from the beginning, ascending. */
export interface CursorPage {
  /** Id of the last item of the page before. */
  after?: string;
  /** The most items, at least 1. */
  limit: number;
  order?: "asc" | "desc";
  reserve?: ReserveRows;
}

export interface PageSource {
  table: string;
  columns: string;
  /** A column of unique integers, which is the order. */
  position: string;
  /** The column that all items have the same value in, and that value. */
  owner: [column: string, value: string];
  /** Further columns, and the values of which all items of the page have one there. */
  filters?: readonly (readonly [column: string, values: readonly SqlValue[]])[];
  /** A further condition, without parameters. */
  condition?: string;
  /** Expression of the bytes of a row whose texts may be large; without it rows are small. */
  bytes?: string;
  /** Whether deleted items stay as rows with `deleted_at`; default true. */
  keepsDeleted?: boolean;
}

/**
 * Reads the items that are not deleted, and whether more follow. A deleted item is still a cursor. Throws `invalid` for
 * a cursor that names no item of the same owner.
 */
export async function readPage(
  statements: Statements,
  { table, columns, position, owner: [column, owner], filters = [], condition, bytes, keepsDeleted = true }: PageSource,
  { after, limit, order = "asc", reserve }: CursorPage,
): Promise<{ rows: Row[]; hasMore: boolean }> {
  const p = new Parameters();
  const conditions = [`${column} = ${p.bind(owner)}`];
  for (const [name, values] of filters)
    conditions.push(`${name} IN (${values.map((value) => p.bind(value)).join(", ")})`);
  if (condition !== undefined) conditions.push(condition);
  if (keepsDeleted) conditions.push("deleted_at IS NULL");
  if (after !== undefined) {
    const params: SqlValue[] = [owner, after];
    const sql = `SELECT ${position} AS position FROM ${table} WHERE ${column} = $1 AND id = $2`;
    const [cursor] = isStorable(after) ? await statements.rows(sql, params) : [];
    if (cursor === undefined) throw new HeddleError("invalid", "names no item of this list", { loc: ["after"] });
    const at = p.bind(integerOf(cursor, "position"));
    conditions.push(`${position} ${order === "asc" ? ">" : "<"} ${at}`);
  }
  const where = `FROM ${table} WHERE ${conditions.join(" AND ")}
    ORDER BY ${position} ${order === "asc" ? "ASC" : "DESC"} LIMIT ${p.bind(BigInt(limit + 1))}`;
  if (reserve !== undefined) {
    const sizes = await statements.rows(`SELECT ${bytes ?? "0"} AS bytes ${where}`, p.values);
    const sum = sizes.reduce((total, row) => total + integerOf(row, "bytes"), 0n);
    await reserve(Number(sum), sizes.length);
  }
  const rows = await statements.rows(`SELECT ${columns} ${where}`, p.values);
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}
