import { Parameters } from "../../engine/parameters.js";
import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import { keysOf, located } from "../../visibility/located.js";
import { closedRow, partRowColumns } from "../../stored-calls/rows.js";
import type { SideName } from "../../stored-calls/rows.js";
import { hideVersions } from "./hide-versions.js";
import type { HiddenVersion } from "./hide-versions.js";
import { hasEnd, hasStart } from "../memory/open-sides.js";
import { insertTrusted, markForRecoveryOnError, writeCalls } from "./write-calls.js";
import type { IngestContext } from "../context.js";
import { newestRows } from "../../schema/read-table.js";

/**
 * Deletes calls and all their descendants (by parent_id within the same trace): every version is hidden, open
 * sides are closed, and parts that come later are dropped. Ids that are not stored are counted and otherwise ignored.
 */
export async function deleteCalls(
  context: IngestContext,
  projectId: string,
  ids: readonly string[],
  user: string,
): Promise<{ num_deleted: number }> {
  const { state } = context;
  const requested = new Set(ids);
  const family = await familyOf(context, projectId, requested);
  const targets = descendants(family, requested);
  const stored = [...targets].filter((id) => family.has(id)).map((id) => ({ project_id: projectId, id }));
  const deleted = await state.deleted.among(context.engine, stored);
  const keys = stored.filter((call) => !deleted.has(keyText(call)));
  if (keys.length > 0) {
    const hidden = keys.flatMap((call) => allVersions(call, family.get(call.id)?.versions ?? [], user));
    const version = await markForRecoveryOnError(state, hideVersions(context, hidden));
    state.deleted.add(keys);
    await closeOpenSides(context, keys);
    for (const call of keys) state.known.delete(keyText(call));
    for (const { id } of keys) context.changes.publish(projectId, { kind: "removed", id, version });
    // What the calls above them used no longer is in other calls.
    const traces = new Set(
      keys.flatMap(({ id }) => (isBelow(family.get(id), targets) ? (family.get(id)?.trace_id ?? []) : [])),
    );
    await writeCalls(
      context,
      new Map(),
      [],
      Array.from(traces, (traceId) => ({ project_id: projectId, trace_id: traceId })),
    );
  }
  return { num_deleted: targets.size };
}

/**
 * Every version, with the time of the newest; in addition those that started at another time and may not be hidden yet, so
 * that readers know all times at which something is hidden.
 */
function allVersions(call: CallKey, versions: Relative["versions"], user: string): HiddenVersion[] {
  const newest = BigInt(versions.at(-1)?.[1] ?? 0);
  const moved = versions.filter(([, us]) => BigInt(us) !== newest);
  return [
    { call, version: 0n, started_at: newest, hidden_by: user },
    ...moved.map(([version, us]) => ({ call, version: BigInt(version), started_at: BigInt(us), hidden_by: user })),
  ];
}

/** Closes the open sides of calls that memory knows of. */
export async function closeOpenSides(
  { engine, clock, state }: IngestContext,
  calls: readonly CallKey[],
): Promise<void> {
  if (calls.length === 0) return;
  const version = clock.next();
  const rows: Uint8Array[] = [];
  const closed: CallKey[] = [];
  for (const call of calls) {
    const key = keyText(call);
    const flags = state.openSides.flags(key);
    const parts: SideName[] = [];
    if (flags & hasStart) parts.push("start");
    if (flags & hasEnd) parts.push("end");
    if (parts.length > 0) closed.push(call);
    for (const part of parts) rows.push(closedRow(call, part, version));
  }
  await markForRecoveryOnError(state, insertTrusted(engine, "call_parts", partRowColumns, rows));
  for (const call of closed) {
    state.openSides.delete(call);
    state.cache.delete(keyText(call));
  }
  state.closedSides += rows.length;
}

/** Whether a call has a parent that stays. */
function isBelow(call: Relative | undefined, targets: ReadonlySet<string>): boolean {
  return call !== undefined && call.parent_id !== "" && !targets.has(call.parent_id);
}

interface Relative {
  id: string;
  trace_id: string;
  parent_id: string;
  /** Oldest first, as pairs of version and start time. */
  versions: Array<[version: string, us: string]>;
}

/** Every call in the traces of `ids`, by its newest row, and the ids themselves. */
async function familyOf(
  { engine, state }: IngestContext,
  projectId: string,
  ids: ReadonlySet<string>,
): Promise<Map<string, Relative>> {
  const params = new Parameters();
  const scope = `project_id = ${params.bind("String", projectId)}`;
  const requested = params.in("id", "String", [...ids]);
  const columns = "id, parent_id, trace_id, version, toUnixTimestamp64Micro(started_at) AS us";
  const there = state.hasAllIds()
    ? located(
        keysOf(
          params,
          Array.from(ids, (id) => ({ project_id: projectId, id })),
        ),
        state.watermarks.indexed,
      )
    : "1";
  const traces = `SELECT trace_id FROM calls WHERE ${there} AND ${scope} AND ${requested}
    UNION ALL SELECT trace_id FROM ${newestRows("call_parts")} WHERE ${scope} AND closed = 0 AND part = 'start' AND ${requested}`;
  const sql = `SELECT id, max(trace_id) AS trace_id, argMax(parent_id, version) AS parent_id, arraySort(groupUniqArray((version, us))) AS versions FROM (
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
