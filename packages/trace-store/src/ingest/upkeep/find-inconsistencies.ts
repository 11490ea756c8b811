import type { Engine } from "../../engine/engine.js";
import { Parameters } from "../../engine/parameters.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import type { IngestContext } from "../context.js";
import { allRows, newestRows } from "../../schema/read-table.js";

/** What a crash, or a re-sent call that changed its start time, can leave. */
export interface Inconsistencies {
  /** Complete calls with an open side, and when they start. */
  open: Array<CallKey & { us: string }>;
  /** Calls with several versions that nothing hides. */
  doubled: Versions[];
}

interface Versions extends CallKey {
  /** Oldest first, as pairs of version and start time. */
  versions: Array<[string, string]>;
}

/** Calls that one statement compares at most, 16 to 50 bytes each. */
const sliceCalls = 1_000_000;

/**
 * Finds inconsistencies among the calls written since a version. It reads the ids of the whole store, which takes
 * seconds when that is large. While a commit runs it also finds calls that are being written: repairing them is harmless.
 */
export async function findInconsistencies(context: IngestContext, since: bigint): Promise<Inconsistencies> {
  return { open: await completeAndOpen(context, since), doubled: await withOlderVersions(context.engine, since) };
}

async function completeAndOpen({ engine, state }: IngestContext, since: bigint): Promise<Inconsistencies["open"]> {
  if (state.openSides.size === 0) return [];
  const params = new Parameters();
  const from = params.bind("UInt64", since);
  const open = `SELECT project_id, id FROM ${newestRows("call_parts")} WHERE closed = 0`;
  const columns = "project_id, id, toUnixTimestamp64Micro(argMax(started_at, version)) AS us";
  const sql = `SELECT ${columns} FROM calls WHERE (project_id, id) IN (${open})
      AND (version >= ${from} OR (project_id, id) IN (${open} AND version >= ${from}))
    GROUP BY project_id, id`;
  return await engine.rows<CallKey & { us: string }>({ sql, params });
}

/** First by hash, which is small, then those few that have several versions by their ids, without the hidden ones. */
async function withOlderVersions(engine: Engine, since: bigint): Promise<Versions[]> {
  const count = new Parameters();
  const [recent] = await engine.rows<{ rows: string }>({
    sql: `SELECT count() AS rows FROM calls WHERE version >= ${count.bind("UInt64", since)}`,
    params: count,
  });
  const slices = Math.ceil(Number(recent?.rows ?? 0) / sliceCalls);
  const found: Versions[] = [];
  for (let slice = 0; slice < slices; slice++) {
    const params = new Parameters();
    const hash = "cityHash64(project_id, id)";
    const part = `${hash} % ${params.bind("UInt32", slices)} = ${params.bind("UInt32", slice)}`;
    const written = `SELECT ${hash} FROM calls WHERE version >= ${params.bind("UInt64", since)} AND ${part}`;
    const several = `SELECT ${hash} AS hash FROM calls WHERE hash IN (${written}) GROUP BY hash HAVING min(version) < max(version)`;
    const sql = `SELECT project_id, id, arraySort(groupUniqArray((version, toUnixTimestamp64Micro(started_at)))) AS versions
      FROM calls WHERE ${hash} IN (${several})
        AND (project_id, id, version) NOT IN (SELECT project_id, id, version FROM ${allRows("call_hidden")} WHERE version > 0)
        AND (project_id, id, 0) NOT IN (SELECT project_id, id, version FROM ${allRows("call_hidden")} WHERE version = 0)
      GROUP BY project_id, id HAVING uniqExact(version) > 1`;
    found.push(...(await engine.rows<Versions>({ sql, params })));
  }
  return found;
}
