/**
 * One step of the schema. Statements may be run again at any start, so each is idempotent (`IF NOT EXISTS`); a step
 * that has been released never changes: a new one follows it.
 */
export interface Migration {
  version: number;
  name: string;
  /** DDL with `{DB}`, `{R}`, `{OC}` and `{DUR}`, see `ddl`. */
  statements: readonly string[];
  /**
   * A step of new columns which programs that do not know them need not heed: replicas of the version before go on next to
   * those of this one, and an update can be taken back. It is found by its columns instead of being recorded, so that the
   * numbers that are recorded say which program is the oldest that can work on the database.
   */
  isAddition?: true;
}
