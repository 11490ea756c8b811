/** What the store knows of one table; the clock, backup, compaction, clean-up and reads go by it. */
export interface TableFacts {
  /** Columns and indexes, as in `CREATE TABLE`. Frozen once a migration that creates the table is released. */
  columns: string;
  engine: "ReplacingMergeTree" | "MergeTree";
  /**
   * The row of a key with the greatest value here replaces the others; the version clock continues after the greatest of
   * all tables. `null`: rows of one key are the same, or there is no key.
   */
  versionColumn: string | null;
  /** 1 here removes the row of a key for readers with FINAL. */
  deletedColumn?: string;
  orderBy: readonly string[];
  partitionBy?: string;
  /** Column with the time after which the engine drops a row. */
  ttlColumn?: string;
  indexGranularity?: number;
  /** Whether a read needs FINAL to see each key once, in its newest row. */
  final: boolean;
  /** Whether inserts and merges are on disk before they count, and the table opens after a power loss. */
  durable: boolean;
  /**
   * A backup copies the tables of phase 0 before those of phase 1, and these before those of phase 2. In phase 0: what says
   * how far the others are consistent. In phase 1: tables whose rows name rows of other tables, or say which of them count.
   * What they name is then in every backup that has them.
   */
  backupPhase: 0 | 1 | 2;
  /** Whether compaction removes the rows of deleted calls, by (project_id, id). */
  compacted: boolean;
  /** Column with the id of the call that a row is about: retention deletes the row with its call. */
  callColumn?: string;
  /** Clean-up drops removed keys, which an ordinary merge keeps. */
  cleanedUp?: true;
  /** The rows can be made again from those of other tables. */
  derived?: true;
  /** Whether an insert that is repeated with its deduplication token is stored once. */
  deduplicates?: true;
}
