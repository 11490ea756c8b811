import { Parameters } from "../engine/parameters.js";
import { keyText } from "./call-key.js";
import type { CallKey } from "./call-key.js";
import { closedRow, hiddenRowColumns, hiddenRow, partRowColumns } from "./rows.js";
import type { Half } from "./rows.js";
import { hasEnd, hasStart } from "./state.js";
import { insertSound, unlessSuspect } from "./write-calls.js";
import type { IngestContext } from "./write-calls.js";
import { newestRows } from "../schema/read-table.js";

/**
 * Deletes calls and all their descendants (by parent_id within the same trace) for good: every version is hidden, open
 * halves are closed, and parts that come later are dropped. Ids that are not stored are counted and otherwise ignored.
 */
export async function deleteCalls(
  context: IngestContext,
  project_id: string,
  ids: readonly string[],
  user: string,
): Promise<{ num_deleted: number }> {
  const { engine, clock, state } = context;
  const requested = new Set(ids);
  const family = await familyOf(context, project_id, requested);
  const doomed = descendants(family, requested);
  const fresh = [...doomed].filter((id) => family.has(id) && !state.deleted.has(keyText({ project_id, id })));
  if (fresh.length > 0) {
    const version = clock.next();
    const rows = fresh.map((id) => {
      const started_at = BigInt(family.get(id)?.us ?? 0);
      return hiddenRow({ project_id, id }, { version: 0n, started_at, hidden_by: user }, version);
    });
    state.projectsWithHidden.add(project_id);
    await unlessSuspect(state, insertSound(engine, "call_hidden", hiddenRowColumns, rows));
    const keys = fresh.map((id) => ({ project_id, id }));
    await closeHalves(context, keys);
    for (const call of keys) {
      const key = keyText(call);
      state.deleted.set(key, 0n);
      state.known.delete(key);
    }
  }
  return { num_deleted: doomed.size };
}

/** Closes the open halves of calls, as far as memory knows of any. */
export async function closeHalves({ engine, clock, state }: IngestContext, calls: readonly CallKey[]): Promise<void> {
  if (calls.length === 0) return;
  const version = clock.next();
  const rows: Uint8Array[] = [];
  const closed: string[] = [];
  for (const call of calls) {
    const key = keyText(call);
    const flags = state.halves.flags(key);
    const parts: Half[] = [];
    if (flags & hasStart) parts.push("start");
    if (flags & hasEnd) parts.push("end");
    if (parts.length > 0) closed.push(key);
    for (const part of parts) rows.push(closedRow(call, part, version));
  }
  await unlessSuspect(state, insertSound(engine, "call_parts", partRowColumns, rows));
  for (const key of closed) {
    state.halves.delete(key);
    state.cache.delete(key);
  }
  state.closedHalves += rows.length;
}

interface Relative {
  id: string;
  parent_id: string;
  us: string;
}

/** The newest row of every call in the traces of `ids`, and the ids themselves. */
async function familyOf(
  { engine }: IngestContext,
  project_id: string,
  ids: ReadonlySet<string>,
): Promise<Map<string, Relative>> {
  const params = new Parameters();
  const scope = `project_id = ${params.bind("String", project_id)}`;
  const requested = params.in("id", "String", [...ids]);
  const columns = "id, parent_id, trace_id, version, toUnixTimestamp64Micro(started_at) AS us";
  const traces = `SELECT trace_id FROM calls WHERE ${scope} AND ${requested}
    UNION ALL SELECT trace_id FROM ${newestRows("call_parts")} WHERE ${scope} AND closed = 0 AND part = 'start' AND ${requested}`;
  const sql = `SELECT id, argMax(parent_id, version) AS parent_id, argMax(us, version) AS us FROM (
      SELECT ${columns} FROM calls WHERE ${scope} AND trace_id IN (${traces})
      UNION ALL SELECT ${columns} FROM ${newestRows("call_parts")} WHERE ${scope} AND closed = 0 AND part = 'start' AND trace_id IN (${traces})
      UNION ALL SELECT ${columns} FROM ${newestRows("call_parts")} WHERE ${scope} AND closed = 0 AND part = 'end' AND ${requested}
    ) GROUP BY id`;
  const family = new Map<string, Relative>();
  for await (const row of engine.stream<Relative>({ sql, params })) family.set(row.id, row);
  return family;
}

function descendants(family: ReadonlyMap<string, Relative>, roots: ReadonlySet<string>): Set<string> {
  const children = new Map<string, string[]>();
  for (const { id, parent_id } of family.values()) {
    const siblings = children.get(parent_id);
    if (siblings === undefined) children.set(parent_id, [id]);
    else siblings.push(id);
  }
  const found = new Set(roots);
  // "" is the parent of every root.
  for (const id of found) if (id !== "") for (const child of children.get(id) ?? []) found.add(child);
  return found;
}
