/**
 * The port to a SQL database. Statements are written once for every backend: parameters as `$1`, `$2`…, types TEXT,
 * BIGINT (times in microseconds) and INTEGER (flags), JSON as TEXT, `ON CONFLICT` and `RETURNING`.
 */
export interface Database extends Statements {
  /**
   * Runs `work` on one connection between BEGIN and COMMIT; when it throws, nothing of it stays. Transactions that
   * write do not overlap, unless both say which rows they are about, and it is not the same `subject`: no other transaction
   * with another subject may change those. `work` must use the statements it is given: those of the database would wait for
   * its end.
   */
  transaction<T>(work: (statements: Statements) => Promise<T>, subject?: string): Promise<T>;
  close(): Promise<void>;
}

export interface Statements {
  /** Rows come back as objects; every integer, of whatever column type, as bigint. */
  rows(sql: string, params?: readonly SqlValue[]): Promise<Row[]>;
  /** For statements without rows. */
  run(sql: string, params?: readonly SqlValue[]): Promise<void>;
}

export type SqlValue = string | bigint | null;
export type Row = Record<string, SqlValue>;

/** Reads a TEXT column that is NOT NULL. */
export function textOf(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new TypeError(`column ${column} holds no text`);
  return value;
}

/** Reads a BIGINT or INTEGER column that is NOT NULL. */
export function integerOf(row: Row, column: string): bigint {
  const value = row[column];
  if (typeof value !== "bigint") throw new TypeError(`column ${column} holds no integer`);
  return value;
}
