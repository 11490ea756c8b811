import type { Engine } from "../../engine/engine.js";
import { Parameters } from "../../engine/parameters.js";
import { idKey } from "../../schema/id-key.js";
import type { IngestContext } from "../context.js";
import { allIds, noWatermarks } from "../memory/watermarks.js";
import { joinSlices, smallSlices } from "./slices.js";
import type { Slice } from "./slices.js";
import { versionSpans } from "./version-spans.js";
import { lostIds, storeWatermarks } from "./watermarks.js";

/** Calls that one statement copies, about. */
const sliceRows = 500_000;
/** The same of a store that is filled: fewer, since each is sorted in one piece. */
const filledRows = 100_000;
/** After about so many it says how far it is. */
const progressRows = 1_000_000;
/** A fifth of a core, a few milliseconds at a time: nobody waits for it. */
const unhurried = {
  max_execution_speed: "800000",
  timeout_before_checking_execution_speed: 0,
  max_block_size: "8192",
} as const;
const copy = `INSERT INTO call_ids (project_id, id_key, started_at) SELECT project_id, ${idKey("id")}, started_at FROM calls`;

/** Adds the calls that were written since the last time to `call_ids`: up to a version that is stored whole. */
export async function indexCalls(context: IngestContext, upTo: bigint): Promise<void> {
  const { engine, state } = context;
  if (!state.hasAllIds() || upTo <= state.watermarks.indexed) return;
  const slices = await versionSpans(engine, state.watermarks.indexed, upTo, sliceRows);
  if (slices.every(({ rows }) => rows === 0)) return;
  for (const slice of slices) {
    const params = new Parameters();
    const written = `version > ${params.bind("UInt64", slice.after)} AND version <= ${params.bind("UInt64", slice.upTo)}`;
    await engine.command({ sql: `${copy} WHERE ${written}`, params });
  }
  await storeWatermarks(context, { indexed: upTo });
}

/** A store without calls needs no filling: it has all ids. */
export async function startWithIds(context: IngestContext): Promise<void> {
  if (context.state.hasAllIds()) return;
  const [call] = await context.engine.rows({ sql: "SELECT 1 FROM calls LIMIT 1" });
  if (call === undefined) await storeWatermarks(context, { idsFrom: allIds, idsLost: await lost(context.engine) });
}

/**
 * Fills `call_ids` with the calls of a store that was made before it was, from the newest back, in slices; a restart goes on
 * where it ended. What is written after the version `upTo` is left to {@link indexCalls}. Look-ups search all of `calls` until it
 * is done.
 */
export async function fillIds(context: IngestContext, upTo: bigint): Promise<void> {
  const { engine, state, onProgress } = context;
  if (state.hasAllIds()) return;
  await indexVersions(engine);
  const { consistent } = state.watermarks;
  // Without it the others would say nothing.
  const basis = {
    idsLost: await lost(engine),
    consistent: consistent || state.repairedUpTo,
    indexed: state.watermarks.idsFrom === noWatermarks.idsFrom ? upTo : state.watermarks.indexed,
  };
  let [copied, toldAt] = [0, 0];
  for (const month of await months(engine)) {
    const left = { ...month, upTo: month.upTo < state.watermarks.idsFrom ? month.upTo : state.watermarks.idsFrom - 1n };
    for (const slice of (await timeSlices(engine, left)).toReversed()) {
      const params = new Parameters();
      await engine.command({ sql: `${copy} WHERE ${startedIn(params, slice)}`, params }, { settings: unhurried });
      await storeWatermarks(context, { ...basis, idsFrom: slice.after + 1n });
      copied += slice.rows;
      if (copied < toldAt) continue;
      onProgress?.(`calls are being indexed by id, which makes looking for them fast: ${copied} so far`);
      toldAt = copied + progressRows;
    }
  }
  await storeWatermarks(context, { ...basis, idsFrom: allIds });
  if (copied > 0) onProgress?.(`all calls are indexed by id: ${copied} just now`);
}

/** Parts that were written before the indexes of versions were added do not have them; those of `calls` always have. */
async function indexVersions(engine: Engine): Promise<void> {
  const sql = `SELECT table FROM system.data_skipping_indices
    WHERE database = currentDatabase() AND name = 'i_version' AND table != 'calls'`;
  for (const { table } of await engine.rows<{ table: string }>({ sql })) {
    const settings = { mutations_sync: "2" } as const;
    await engine.command({ sql: `ALTER TABLE ${table} MATERIALIZE INDEX i_version` }, { settings });
  }
}

type Times = Pick<Slice, "after" | "upTo">;

/** The months that have calls, newest first. */
async function months(engine: Engine): Promise<Times[]> {
  const us = (time: string) => `toUnixTimestamp64Micro(toDateTime64(${time}, 6, 'UTC'))`;
  const first = "toDate32(concat(substring(partition, 1, 4), '-', substring(partition, 5, 2), '-01'))";
  const sql = `SELECT ${us(first)} AS from, ${us(`addMonths(${first}, 1)`)} AS next FROM
    (SELECT DISTINCT partition FROM system.parts WHERE active AND database = currentDatabase() AND table = 'calls')
    ORDER BY partition DESC`;
  const found = await engine.rows<{ from: string; next: string }>({ sql });
  return found.map(({ from, next }) => ({ after: BigInt(from) - 1n, upTo: BigInt(next) - 1n }));
}

async function timeSlices(engine: Engine, times: Times): Promise<Slice[]> {
  const small = await smallSlices(engine, times, (step) => {
    const params = new Parameters();
    const bucket = `intDiv(toUnixTimestamp64Micro(started_at) - ${params.bind("Int64", times.after + 1n)}, ${params.bind("Int64", step)})`;
    const sql = `SELECT ${bucket} AS bucket, count() AS rows FROM calls WHERE ${startedIn(params, times)}
      GROUP BY bucket ORDER BY bucket`;
    return { sql, params };
  });
  return small.length === 0 ? [] : joinSlices(times, small, filledRows);
}

function startedIn(params: Parameters, { after, upTo }: Times): string {
  return `started_at > ${params.time(after)} AND started_at <= ${params.time(upTo)}`;
}

async function lost(engine: Engine): Promise<bigint> {
  const [row] = await engine.rows<{ lost: string }>({ sql: `SELECT (${lostIds}) AS lost` });
  return BigInt(row?.lost ?? 0);
}
