import type { Engine } from "./engine.js";

/** A part of a table, as the engine keeps it on its disk: it never changes, merges replace it by a larger one. */
export interface StoredPart {
  table: string;
  /** Of the table; a table that was created anew has another one. */
  table_uuid: string;
  name: string;
  partition_id: string;
  /** The inserts that it holds, both included. */
  min_block: number;
  max_block: number;
  rows: number;
  /** Of its content. */
  hash: string;
  /** Unix seconds after which the engine may drop all of it; 0 = never. */
  expires_at: number;
}

/** Lists the parts that hold rows. */
export async function listParts(engine: Engine): Promise<StoredPart[]> {
  const sql = `SELECT table, toString(any_uuid.uuid) AS table_uuid, name, partition_id, toFloat64(min_block_number) AS min_block,
      toFloat64(max_block_number) AS max_block, toFloat64(rows) AS rows, hash_of_all_files AS hash,
      toFloat64(toUnixTimestamp(delete_ttl_info_max)) AS expires_at
    FROM system.parts INNER JOIN (SELECT name AS table, uuid FROM system.tables WHERE database = currentDatabase()) AS any_uuid
      USING (table)
    WHERE active AND database = currentDatabase() AND rows > 0 ORDER BY table, name`;
  return await engine.rows<StoredPart>({ sql });
}

/** What is left of parts that the engine has put aside, by any reason: their names end with that of the part. */
export async function listDetached(engine: Engine): Promise<Array<{ table: string; name: string }>> {
  const sql = "SELECT table, name FROM system.detached_parts WHERE database = currentDatabase()";
  return await engine.rows<{ table: string; name: string }>({ sql });
}

/**
 * Returns the parts of `before` whose rows are not in `after`. A part may have been merged into a larger one; after a
 * power loss the parts that it was merged from may be back in its stead; and a part that has expired may be gone.
 */
export function missingParts(
  before: readonly StoredPart[],
  after: readonly StoredPart[],
  nowSeconds: number,
): StoredPart[] {
  const groups = new Map<string, StoredPart[]>();
  for (const part of after) {
    const group = groups.get(groupOf(part));
    if (group === undefined) groups.set(groupOf(part), [part]);
    else group.push(part);
  }
  return before.filter((part) => {
    if (part.expires_at > 0 && part.expires_at < nowSeconds) return false;
    const group = groups.get(groupOf(part)) ?? [];
    return !group.some((other) => replaces(other, part)) && rowsWithin(group, part) < part.rows;
  });
}

const groupOf = ({ table, table_uuid, partition_id }: StoredPart): string => `${table} ${table_uuid} ${partition_id}`;

/** The same part, or one that has been merged or rewritten from it. A part of the same name may be another insert's. */
function replaces(other: StoredPart, part: StoredPart): boolean {
  if (other.name === part.name) return other.hash === part.hash;
  return other.min_block <= part.min_block && other.max_block >= part.max_block;
}

function rowsWithin(group: readonly StoredPart[], { name, min_block, max_block }: StoredPart): number {
  let rows = 0;
  for (const other of group) {
    if (other.name !== name && other.min_block >= min_block && other.max_block <= max_block) rows += other.rows;
  }
  return rows;
}
