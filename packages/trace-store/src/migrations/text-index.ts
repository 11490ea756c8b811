import type { Engine, StatementOptions } from "../engine/engine.js";
import { ddl } from "./ddl.js";
import type { Placement } from "./ddl.js";
import { textIndexNames } from "../schema/text-index-names.js";
import { indexedWords } from "../query/searched-text.js";

/** How words are found: by filters of the words of each block of calls, by lists of calls for each word, or by reading. */
export type TextIndex = "bloom" | "text" | "off";

const [bloomName, textName] = textIndexNames;
const indexes = {
  bloom: { name: bloomName, definition: `tokens(${indexedWords}) TYPE bloom_filter(0.01) GRANULARITY 1` },
  text: { name: textName, definition: `${indexedWords} TYPE text(tokenizer = 'splitByNonAlpha')` },
} as const;

/** The names of the indexes that the table of calls has; none where it is not there. */
export async function existingIndexes(bootstrap: Engine, { database }: Placement): Promise<ReadonlySet<string>> {
  const rows = await bootstrap.rows<{ name: string }>({
    sql: `SELECT name FROM system.data_skipping_indices WHERE database = '${database}' AND table = 'calls'`,
  });
  return new Set(rows.map(({ name }) => name));
}

/**
 * Gives the table of calls this index and no other. What was stored before is indexed in the background; meanwhile, and
 * after a crash before that has begun, searches read more.
 */
export async function keepTextIndex(
  bootstrap: Engine,
  placement: Placement,
  { kind, existing }: { kind: TextIndex; existing: ReadonlySet<string> },
): Promise<void> {
  const alter = async (change: string) => {
    await bootstrap.command({ sql: ddl(`ALTER TABLE {DB}.calls {OC} ${change}`, placement) });
  };
  for (const [each, { name, definition }] of Object.entries(indexes)) {
    if (each !== kind && existing.has(name)) await alter(`DROP INDEX IF EXISTS ${name}`);
    if (each !== kind || existing.has(name)) continue;
    await alter(`ADD INDEX IF NOT EXISTS ${name} ${definition}`);
    await alter(`MATERIALIZE INDEX ${name}`);
  }
}

/**
 * The engine for statements that may search. Of a part that lacks the lists of calls, it would evaluate their expression in a
 * form of its own, which fails for lambdas: it reads the columns instead.
 */
export function withTextIndex(engine: Engine, kind: TextIndex): Engine {
  if (kind !== "text") return engine;
  const searching = (options: StatementOptions = {}): StatementOptions => ({
    ...options,
    settings: { ...options.settings, ...columnsOnly },
  });
  return {
    ...engine,
    rows: (statement, options) => engine.rows(statement, searching(options)),
    stream: (statement, options) => engine.stream(statement, searching(options)),
  };
}

const columnsOnly = { query_plan_direct_read_from_text_index: 0, query_plan_text_index_add_hint: 0 };
