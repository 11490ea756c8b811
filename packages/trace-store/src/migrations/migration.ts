/**
 * One step of the schema. Statements may be run again at any start, so each is idempotent (`IF NOT EXISTS`); a step
 * that has been released never changes: a new one follows it.
 */
export interface Migration {
  version: number;
  name: string;
  /** DDL with `{DB}`, `{R}`, `{OC}` and `{DUR}`, see `ddl`. */
  statements: readonly string[];
}
