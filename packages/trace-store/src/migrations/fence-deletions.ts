import type { Engine } from "../engine/engine.js";
import type { Placement } from "./ddl.js";
import { fencePattern } from "./writer-fence.js";

/**
 * An engine whose deletions delete nothing once a later writer has raised the fence of the table. What a process sends that
 * was stopped meanwhile comes late, and constraints do not see it: each statement looks itself who writes, when it runs.
 *
 * Not where tables are replicated: a server that was down would look later than the others, and keep what they delete.
 */
export function fenceDeletions(engine: Engine, { database, cluster }: Placement, epoch: bigint): Engine {
  if (cluster !== undefined) return engine;
  return {
    ...engine,
    async command({ sql, params }, options) {
      const fenced = sql.replace(deletion, (_, statement: string, table: string, condition: string) => {
        const fence = `SELECT max(toUInt64OrZero(extract(create_table_query, '${fencePattern}')))
          FROM system.tables WHERE database = '${database}' AND name = '${table}'`;
        return `${statement} (${fence}) <= ${epoch} AND (${condition})`;
      });
      await engine.command({ sql: fenced, ...(params && { params }) }, options);
    },
  };
}

const deletion = /^((?:DELETE FROM|ALTER TABLE) (\w+) (?:DELETE )?WHERE)\s(.*)$/s;
