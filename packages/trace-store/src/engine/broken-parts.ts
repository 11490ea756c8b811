import type { Engine } from "./engine.js";
import { StatementError } from "./statement-error.js";

/** Parts of a table that the engine could not read when it opened it: it continues without their rows. */
export interface BrokenParts {
  table: string;
  parts: number;
  /** Where the engine keeps what is left of one of them. */
  path: string;
}

/**
 * Lists the parts that the engine detached and nobody removed since. A power loss also leaves such parts, of writes that
 * were never acknowledged.
 */
export async function brokenParts(engine: Engine): Promise<BrokenParts[]> {
  const sql = `SELECT table, toUInt32(count()) AS parts, any(path) AS path FROM system.detached_parts
    WHERE database = currentDatabase() AND startsWith(coalesce(reason, ''), 'broken') GROUP BY table ORDER BY table`;
  try {
    return await engine.rows<BrokenParts>({ sql });
  } catch (error) {
    // An account of a server that may not see them.
    if (error instanceof StatementError) return [];
    throw error;
  }
}
