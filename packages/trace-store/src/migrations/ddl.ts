/** Where the tables are: a database, on one node or on every node of a named cluster. */
export interface Placement {
  database: string;
  cluster?: string;
}

/**
 * With the engine's defaults a power loss loses the last seconds and may leave a table that does not open. These write
 * through to the disk on insert and merge, and open a table in spite of parts that a power loss broke.
 */
const durableSettings =
  "fsync_after_insert=1, fsync_part_directory=1, min_rows_to_fsync_after_merge=1, max_suspicious_broken_parts=1000000, old_parts_lifetime=60";

/** Of parts that another server has made. */
const fetchedSettings = "min_compressed_bytes_to_fsync_after_fetch=1";

const namePattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Fills the macros of a DDL statement: `{DB}` database, `{R}` Replicated, `{OC}` ON CLUSTER, `{DUR}` durability. */
export function ddl(text: string, { database, cluster }: Placement): string {
  for (const name of [database, cluster]) {
    if (name !== undefined && !namePattern.test(name)) throw new TypeError(`not a database or cluster name: ${name}`);
  }
  return text
    .replaceAll("{DB}", database)
    .replaceAll("{OC}", cluster === undefined ? "" : `ON CLUSTER '${cluster}'`)
    .replaceAll("{R}", cluster === undefined ? "" : "Replicated")
    .replaceAll("{DUR}", cluster === undefined ? durableSettings : `${durableSettings}, ${fetchedSettings}`);
}
