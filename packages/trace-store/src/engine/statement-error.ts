/**
 * The engine refused a statement for what it says or carries: a defect of ours, or a row that it cannot take. Never caused
 * by load, which is a `HeddleError` with code `busy`. It leaves the package as a defect.
 */
export class StatementError extends Error {
  override readonly name = "StatementError";
  /** ClickHouse's error number. */
  readonly number: number;
  /** ClickHouse's name of the error. */
  readonly type: string;

  constructor(message: string, number: number, type: string, cause?: unknown) {
    super(message, { cause });
    this.number = number;
    this.type = type;
  }
}

/** Of a table or a database that does not exist. */
const unknown = new Set([60, 81]);

export function isUnknownTable(error: unknown): boolean {
  return error instanceof StatementError && unknown.has(error.number);
}
