import type { Engine } from "./engine.js";
import { StatementError } from "./statement-error.js";

/** Parts of a table that the engine could not read when it opened it: it goes on without their rows. */
export interface DamagedParts {
  table: string;
  parts: number;
  /** Where the engine keeps what was left of one of them. */
  path: string;
}

/** What was set aside and not removed since. A power cut leaves such parts too, of writes that nobody was told of. */
export async function damagedParts(engine: Engine): Promise<DamagedParts[]> {
  const sql = `SELECT table, toUInt32(count()) AS parts, any(path) AS path FROM system.detached_parts
    WHERE database = currentDatabase() AND startsWith(coalesce(reason, ''), 'broken') GROUP BY table ORDER BY table`;
  try {
    return await engine.rows<DamagedParts>({ sql });
  } catch (error) {
    // An account of a server that may not see them.
    if (error instanceof StatementError) return [];
    throw error;
  }
}
