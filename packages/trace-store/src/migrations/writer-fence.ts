import type { Engine } from "../engine/engine.js";
import { tableFacts } from "../schema/schema.js";
import { ddl } from "./ddl.js";
import type { Placement } from "./ddl.js";

/**
 * The numbers of the writers of a database, in the order in which they took it over. Whoever gives them out knows the last
 * one, and so does the database: where the two do not fit, one of them was restored.
 */
export interface WriterEpochs {
  /**
   * A number that is greater than all before. Called with the greatest one that is stored in the database, 0 for none; what
   * it throws refuses the writer.
   */
  next(seen: bigint): Promise<bigint>;
  /** The number is stored in the database. */
  onStored(epoch: bigint): Promise<void>;
}

/** What the names of the inserts of a writer begin with; `writer` is that of all writers of the database. */
export const epochName = (writer: string, epoch: bigint): string => `${writer}epoch-${epoch}-`;

/** Who writes, and how far the schema is: that of earlier writers is the same. */
const unfenced = new Set<string>(["control_plane", "schema_migrations"]);

/**
 * Takes a number for this writer, after the one that is `stored`, and lets the engine refuse what former ones send from now on: an insert says by its name
 * who sends it, and each table has a constraint that reads the name. It takes effect before this resolves; an insert that
 * the engine had begun by then is ended by the recovery that follows. Programs that give no numbers are not refused.
 */
export async function fenceFormerWriters(
  bootstrap: Engine,
  placement: Placement,
  writer: string,
  { epochs, stored }: { epochs: WriterEpochs; stored: bigint },
): Promise<bigint> {
  const epoch = await epochs.next(stored);
  const fenced = tableFacts.filter(([table]) => !unfenced.has(table));
  await Promise.all([
    ...fenced.map(
      async ([table]) => await bootstrap.command({ sql: fenceStatement(table, placement, { writer, epoch }) }),
    ),
    placement.cluster === undefined ? markEpoch(bootstrap, placement, epoch) : undefined,
  ]);
  await epochs.onStored(epoch);
  return epoch;
}

const renewMs = 60_000;

/** Stores a further number of the same writer every minute in which it has written, so that both sides have one of lately. */
export function keepEpochs(
  engine: Engine,
  placement: Placement,
  { epochs, lastChange }: { epochs: WriterEpochs; lastChange: () => bigint },
): { stop(): Promise<void> } | undefined {
  // Comments are not replicated: constraints are.
  if (placement.cluster !== undefined) return undefined;
  let marked = lastChange();
  let renewing = Promise.resolve();
  const renew = async () => {
    const last = lastChange();
    if (last === marked) return;
    const epoch = await epochs.next(await storedEpoch(engine, placement));
    await markEpoch(engine, placement, epoch);
    await epochs.onStored(epoch);
    marked = last;
  };
  // The next one is as good.
  const timer = setInterval(() => {
    renewing = renewing.then(renew).catch(() => undefined);
  }, renewMs);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await renewing.then(renew).catch(() => undefined);
    },
  };
}

/** The greatest number that is stored in a database; 0 where there is none, or no database. */
export async function storedEpoch(engine: Engine, { database }: Pick<Placement, "database">): Promise<bigint> {
  const sql = `SELECT comment, create_table_query AS ddl FROM system.tables
    WHERE database = '${database}' AND name IN ('control_plane', 'calls')`;
  const rows = await engine.rows<{ comment: string; ddl: string }>({ sql });
  const numbers = rows.flatMap(({ comment, ddl: statement }) => [
    /^epoch (\d+)$/.exec(comment)?.[1],
    // A former writer may have stored an earlier mark late.
    new RegExp(fencePattern).exec(statement)?.[1],
  ]);
  return numbers.map((number) => BigInt(number ?? 0)).reduce((a, b) => (a > b ? a : b), 0n);
}

/** Finds the number of the writer in the DDL of a table; for this program and for the engine. */
export const fencePattern = "CONSTRAINT writer CHECK [^>]*>= ([0-9]+)";

export function fenceStatement(
  table: string,
  placement: Placement,
  { writer, epoch }: { writer: string; epoch: bigint },
): string {
  const number = `toUInt64OrZero(extract(getSetting('log_comment'), '${writer}epoch-([0-9]+)-'))`;
  const check = `${number} = 0 OR ${number} >= ${epoch}`;
  // Where tables are replicated, so are their constraints, also to servers that are down now.
  return ddl(
    `ALTER TABLE {DB}.${table} DROP CONSTRAINT IF EXISTS writer, ADD CONSTRAINT writer CHECK ${check}`,
    placement,
  );
}

/** Of the table that says whose the database is: a backup of the database has it, too. */
async function markEpoch(engine: Engine, placement: Placement, epoch: bigint): Promise<void> {
  await engine.command({ sql: ddl(`ALTER TABLE {DB}.control_plane MODIFY COMMENT 'epoch ${epoch}'`, placement) });
}
