import type { Engine, StatementOptions } from "./engine.js";

/** A column that is computed of others, where a part does not have it yet. */
export interface ComputedColumn {
  table: string;
  column: string;
}

/** Whether the table has parts that are older than the column. */
export async function hasOlderParts(
  engine: Engine,
  { database, table, column }: ComputedColumn & { database: string },
): Promise<boolean> {
  const parts = `active AND database = '${database}' AND table = '${table}'`;
  const [row] = await engine.rows<{ older: string }>({
    sql: `SELECT toInt64(count()) - (SELECT toInt64(count()) FROM system.parts_columns WHERE ${parts} AND column = '${column}') AS older
      FROM system.parts WHERE ${parts}`,
  });
  return Number(row?.older) > 0;
}

/**
 * The engine for reads of tables with parts that are older than a computed column. The engine (26.7) computes it there without
 * values that a condition has read and that nothing else needs: where conditions are read in one step, it has them. That is
 * slower where a condition on a small column leaves few rows for one on payloads, so that other tables go without.
 */
export function withOlderParts(engine: Engine): Engine {
  const inOneStep = (options: StatementOptions | undefined): StatementOptions => ({
    ...options,
    settings: { enable_multiple_prewhere_read_steps: 0, ...options?.settings },
  });
  return {
    ...engine,
    rows: (statement, options) => engine.rows(statement, inOneStep(options)),
    stream: (statement, options) => engine.stream(statement, inOneStep(options)),
  };
}
