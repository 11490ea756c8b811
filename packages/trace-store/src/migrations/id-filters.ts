import type { Engine, StatementOptions } from "../engine/engine.js";
import { ddl } from "./ddl.js";
import type { Placement } from "./ddl.js";

/**
 * The columns of calls that are looked for by their ids, each with its filter and the one of before, which let one granule of
 * a hundred pass that has not the id: among millions of calls that was what a small read read most.
 */
const filters = [
  { column: "id", name: "f_id", former: "i_id" },
  { column: "trace_id", name: "f_trace", former: "i_trace" },
  { column: "parent_id", name: "f_parent", former: "i_parent" },
  { column: "thread_id", name: "f_thread", former: "i_thread" },
] as const;

/** One of a thousand passes: half as large again, and inserts take no longer that could be measured. */
const definition = "TYPE bloom_filter(0.001) GRANULARITY 1";

/**
 * Gives the table of calls these filters. What was stored before gets them in the background; until then it keeps the former
 * ones, which the next start drops.
 */
export async function keepIdFilters(bootstrap: Engine, placement: Placement): Promise<void> {
  const alter = async (changes: readonly string[], options?: StatementOptions) => {
    if (changes.length === 0) return;
    await bootstrap.command({ sql: ddl(`ALTER TABLE {DB}.calls {OC} ${changes.join(", ")}`, placement) }, options);
  };
  const { names } = await indexesOf(bootstrap, placement);
  const missing = filters.filter(({ name }) => !names.has(name));
  await alter(missing.map(({ name, column }) => `ADD INDEX IF NOT EXISTS ${name} ${column} ${definition}`));
  await alter(missing.map(({ name }) => `MATERIALIZE INDEX ${name}`));
  const former = filters.map((filter) => filter.former).filter((name) => names.has(name));
  if (former.length === 0 || !(await indexesOf(bootstrap, placement)).areMade) return;
  // Nobody waits for the files of parts to go.
  const settings = { alter_sync: "0" } as const;
  await alter(
    former.map((name) => `DROP INDEX IF EXISTS ${name}`),
    { settings },
  );
}

/** The indexes that the table of calls has, and whether its parts have them. */
async function indexesOf(
  bootstrap: Engine,
  { database }: Placement,
): Promise<{ names: Set<string>; areMade: boolean }> {
  const ofCalls = `database = '${database}' AND table = 'calls'`;
  const rows = await bootstrap.rows<{ name: string; waiting: string }>({
    sql: `SELECT name, (SELECT count() FROM system.mutations WHERE ${ofCalls} AND NOT is_done) AS waiting
      FROM system.data_skipping_indices WHERE ${ofCalls}`,
  });
  return { names: new Set(rows.map(({ name }) => name)), areMade: rows.every(({ waiting }) => waiting === "0") };
}
