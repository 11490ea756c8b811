import { Parameters } from "../parameters.js";
import { keyText } from "./call-key.js";
import type { CallKey } from "./call-key.js";
import type { SoughtCall } from "./find-stored.js";
import { HIDDEN_COLUMNS, hiddenRow } from "./rows.js";
import type { IncomingCall } from "./settle.js";
import { insertSound, writeCalls } from "./write-calls.js";
import type { IngestContext } from "./write-calls.js";

/** So many ids at most are compared in one statement. */
const SLICE = 200_000;

/**
 * Mends what a crash, or a re-sent call that changed its start time, can leave among the calls written since a
 * version: complete calls with an open half, calls with both halves open (`pairs`), and calls with several versions
 * that nothing hides. The newest part wins each side, as in any commit.
 */
export async function repair(context: IngestContext, since: bigint, pairs: readonly CallKey[] = []): Promise<void> {
  const calls = new Map<string, IncomingCall & SoughtCall>();
  for (const { us, ...call } of await completeAndOpen(context, since)) {
    const key = keyText(call);
    if (!context.state.deleted.has(key)) calls.set(key, { ...call, started_at: BigInt(us), thorough: true });
  }
  for (const call of pairs) {
    const key = keyText(call);
    if (!calls.has(key)) calls.set(key, { ...call, started_at: context.state.halves.time(key), thorough: true });
  }
  if (calls.size > 0) await writeCalls(context, calls);
  await hideOlderVersions(context, since);
}

async function completeAndOpen(
  { engine, state }: IngestContext,
  since: bigint,
): Promise<Array<CallKey & { us: string }>> {
  if (state.halves.size === 0) return [];
  const params = new Parameters();
  const from = params.bind("UInt64", since);
  const open = "SELECT project_id, id FROM call_parts FINAL WHERE closed = 0";
  const columns = "project_id, id, toUnixTimestamp64Micro(argMax(started_at, version)) AS us";
  const sql = `SELECT ${columns} FROM calls WHERE (project_id, id) IN (${open})
      AND (version >= ${from} OR (project_id, id) IN (${open} AND version >= ${from}))
    GROUP BY project_id, id`;
  return await engine.rows<CallKey & { us: string }>({ sql, params });
}

interface Versions extends CallKey {
  /** Oldest first, as pairs of version and start time. */
  versions: Array<[string, string]>;
}

async function hideOlderVersions({ engine, clock, state }: IngestContext, since: bigint): Promise<void> {
  const count = new Parameters();
  const [recent] = await engine.rows<{ rows: string }>({
    sql: `SELECT count() AS rows FROM calls WHERE version >= ${count.bind("UInt64", since)}`,
    params: count,
  });
  const slices = Math.ceil(Number(recent?.rows ?? 0) / SLICE);
  for (let slice = 0; slice < slices; slice++) {
    const params = new Parameters();
    const part = `cityHash64(id) % ${params.bind("UInt32", slices)} = ${params.bind("UInt32", slice)}`;
    const ids = `SELECT id FROM calls WHERE version >= ${params.bind("UInt64", since)} AND ${part}`;
    const sql = `SELECT project_id, id, arraySort(groupUniqArray((version, toUnixTimestamp64Micro(started_at)))) AS versions
      FROM calls WHERE id IN (${ids})
        AND (project_id, id, version) NOT IN (SELECT project_id, id, version FROM call_hidden WHERE id IN (${ids}))
        AND (project_id, id, 0) NOT IN (SELECT project_id, id, version FROM call_hidden WHERE version = 0)
      GROUP BY project_id, id HAVING uniqExact(version) > 1`;
    const rows = await engine.rows<Versions>({ sql, params });
    const rowVersion = clock.next();
    const hidden: Uint8Array[] = [];
    for (const { versions, ...call } of rows) {
      const newest = versions.at(-1);
      for (const [version, us] of versions.slice(0, -1)) {
        hidden.push(hiddenRow(call, { version: BigInt(version), started_at: BigInt(us), hidden_by: "" }, rowVersion));
      }
      state.projectsWithHidden.add(call.project_id);
      if (newest !== undefined) state.known.add(keyText(call), BigInt(newest[1]));
    }
    await insertSound(engine, "call_hidden", HIDDEN_COLUMNS, hidden);
  }
}
