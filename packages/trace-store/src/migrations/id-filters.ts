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
 * ones, which the next start drops. `existing` are the indexes that it had before the migrations, none where it is new.
 */
export async function keepIdFilters(
  bootstrap: Engine,
  placement: Placement,
  existing: ReadonlySet<string>,
): Promise<void> {
  const alter = async (changes: readonly string[], options?: StatementOptions) => {
    if (changes.length === 0) return;
    await bootstrap.command({ sql: ddl(`ALTER TABLE {DB}.calls {OC} ${changes.join(", ")}`, placement) }, options);
  };
  const missing = filters.filter(({ name }) => !existing.has(name));
  await alter(missing.map(({ name, column }) => `ADD INDEX IF NOT EXISTS ${name} ${column} ${definition}`));
  await alter(missing.map(({ name }) => `MATERIALIZE INDEX ${name}`));
  const former = filters.map((filter) => filter.former).filter((name) => existing.size === 0 || existing.has(name));
  if (former.length === 0 || !(await areMade(bootstrap, placement))) return;
  // Nobody waits for the files of parts to go.
  const settings = { alter_sync: "0" } as const;
  await alter(
    former.map((name) => `DROP INDEX IF EXISTS ${name}`),
    { settings },
  );
}

/** Whether the parts of the table have the indexes that it has. */
async function areMade(bootstrap: Engine, { database }: Placement): Promise<boolean> {
  const [row] = await bootstrap.rows<{ waiting: string }>({
    sql: `SELECT count() AS waiting FROM system.mutations WHERE database = '${database}' AND table = 'calls' AND NOT is_done`,
  });
  return row?.waiting === "0";
}
