import { HeddleError } from "@heddle/errors";
import type { Engine } from "../../engine/engine.js";
import { RowWriter } from "../../engine/row-writer.js";
import { allRows, newestRows } from "../../schema/read-table.js";
import { newestVersion } from "../../version-clock.js";
import type { IngestContext } from "../context.js";
import { noWatermarks } from "../memory/watermarks.js";
import type { Watermarks } from "../memory/watermarks.js";

const row = new RowWriter();

/** Stores some of the watermarks, then goes by them. */
export async function storeWatermarks(
  { engine, clock, state }: IngestContext,
  changed: Partial<Watermarks>,
): Promise<void> {
  const version = clock.next();
  const rows = Object.entries(changed).map(([name, value]) =>
    row.rowOf(() => {
      row.text(name);
      row.integer(value);
      row.integer(version);
    }),
  );
  await engine.insert("watermarks", ["name", "value", "version"], rows);
  state.watermarks = { ...state.watermarks, ...changed };
}

/**
 * Reads the watermarks as far as the tables bear them out: after a partial restore, or where parts were lost, they may be
 * ahead of the data, and say nothing then. Nothing is lost without them. With the newest version of the store, and how many rows
 * `calls` has at most.
 */
export async function loadWatermarks(
  engine: Engine,
): Promise<{ watermarks: Watermarks; newest: bigint; rows: number }> {
  const stored = await readWatermarks(engine);
  const { consistent } = stored;
  const [newest, [facts]] = await Promise.all([
    newestVersion(engine, consistent),
    engine.rows<{ hidden: string; ids: string; calls: string; lost: string }>({
      sql: `SELECT (SELECT max(row_version) FROM ${allRows("call_hidden")} WHERE row_version > ${stored.compacted}) AS hidden,
        (SELECT count() FROM call_ids) AS ids, (SELECT count() FROM calls) AS calls, (${lostIds}) AS lost`,
    }),
  ]);
  if (newest === 0n && consistent > 0n) {
    await forget(engine);
    return { watermarks: noWatermarks, newest: await newestVersion(engine, 0n), rows: Number.POSITIVE_INFINITY };
  }
  const { hidden = "0", ids = "0", calls = "0", lost = "0" } = facts ?? {};
  const hasIds = BigInt(lost) === stored.idsLost && (ids !== "0" || calls === "0" || stored.indexed === 0n);
  const watermarks = {
    consistent,
    // What it has compacted it has marked in later rows.
    compacted: hidden === "0" ? 0n : stored.compacted,
    named: stored.named > newest ? 0n : stored.named,
    indexed: stored.indexed > newest ? 0n : stored.indexed,
    idsFrom: hasIds ? stored.idsFrom : noWatermarks.idsFrom,
    idsLost: BigInt(lost),
  };
  return { watermarks, newest, rows: Number(calls) };
}

/** SQL of the number of parts of `call_ids` that the engine has put aside. */
export const lostIds =
  "SELECT count() FROM system.detached_parts WHERE database = currentDatabase() AND table = 'call_ids'";

async function readWatermarks(engine: Engine): Promise<Watermarks> {
  const sql = `SELECT name, value FROM ${newestRows("watermarks")} WHERE value > ${-(2n ** 63n)}`;
  try {
    const rows = await engine.rows<{ name: string; value: string }>({ sql });
    const { idsFrom, ...counted }: Watermarks = {
      ...noWatermarks,
      ...Object.fromEntries(rows.map(({ name, value }) => [name, BigInt(value)])),
    };
    // Versions and numbers are not negative; times may be.
    if (Object.values(counted).every((value) => value >= 0n)) return { ...counted, idsFrom };
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "corrupt") throw error;
  }
  await forget(engine);
  return noWatermarks;
}

async function forget(engine: Engine): Promise<void> {
  await engine.command({ sql: "TRUNCATE TABLE watermarks" });
}
