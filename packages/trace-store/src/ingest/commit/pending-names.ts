import { HeddleError } from "@heddle/errors";
import { Parameters } from "../../engine/parameters.js";
import { allRows, newestRows } from "../../schema/read-table.js";
import { keyText } from "../../stored-calls/call-key.js";
import { keysFrom, keysOf, located } from "../../visibility/located.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import type { IngestContext } from "../context.js";

// Clients rename calls before they send their starts, so a name may come first. It waits for its call, but neither in
// any number nor for any time.

/** The mutation has subqueries, and the statement returns when it is done. */
const deleteSettings = { mutations_sync: "2", allow_nondeterministic_mutations: 1 } as const;

/** Throws `rate_limited` for a call that is not stored when as many names of the project wait as may. */
export async function checkPendingNames(context: IngestContext, call: CallKey): Promise<void> {
  const { engine, state, now } = context;
  const key = keyText(call);
  if (state.known.startedAt(key) !== undefined || state.openSides.has(key) === true) return;
  const { pendingNames, pendingNameUs } = state.limits;
  const p = new Parameters();
  const project = `project_id = ${p.bind("String", call.project_id)}`;
  const waiting = pending(p, state, { from: now() - pendingNameUs }, project);
  const sql = `SELECT count() AS names FROM ${newestRows("call_names")} WHERE ${waiting} AND id != ${p.bind("String", call.id)}`;
  const [row] = await engine.rows<{ names: string }>({ sql, params: p });
  if (Number(row?.names ?? 0) < pendingNames || (await isStored(context, call))) return;
  const message = `${pendingNames} names of this project wait for calls that are not there; a name waits for at most ${pendingNameUs / 3_600_000_000n} hours`;
  throw new HeddleError("rate_limited", message, { loc: [] });
}

async function isStored({ engine, state }: IngestContext, { project_id, id }: CallKey): Promise<boolean> {
  const p = new Parameters();
  const same = `project_id = ${p.bind("String", project_id)} AND id = ${p.bind("String", id)}`;
  const there = state.hasAllIds() ? located(keysOf(p, [{ project_id, id }]), state.watermarks.indexed) : "1";
  const sql = `SELECT 1 AS found FROM calls WHERE ${there} AND ${same} LIMIT 1
    UNION ALL SELECT 1 AS found FROM ${allRows("call_parts")} WHERE ${same} LIMIT 1`;
  return (await engine.rows({ sql, params: p })).length > 0;
}

/** Deletes the names that were given before `before`, but not before `from`, and whose calls did not come. */
export async function dropPendingNames(context: IngestContext, from: bigint, before: bigint): Promise<void> {
  const p = new Parameters();
  const { engine, state } = context;
  const waiting = pending(p, state, { from, before }, "1");
  const sql = `SELECT 1 AS found FROM ${allRows("call_names")} WHERE ${waiting} LIMIT 1`;
  if ((await engine.rows({ sql, params: p })).length === 0) return;
  await engine.command(
    { sql: `ALTER TABLE call_names DELETE WHERE ${waiting}`, params: p },
    { settings: deleteSettings },
  );
}

/** A condition on names: given in the time, for calls of which no part is stored. Versions are microseconds. */
function pending(
  p: Parameters,
  state: IngestContext["state"],
  { from, before }: { from: bigint; before?: bigint },
  scope: string,
): string {
  const start = from < 0n ? 0n : from;
  const given = [
    scope,
    `version >= ${p.bind("UInt64", start)}`,
    ...(before === undefined ? [] : [`version < ${p.bind("UInt64", before)}`]),
  ].join(" AND ");
  const named = `SELECT project_id, id FROM ${allRows("call_names")} WHERE ${given}`;
  const unstored = (table: string, there: string) =>
    `(project_id, id) NOT IN (SELECT project_id, id FROM ${table} WHERE ${there} AND (project_id, id) IN (${named}))`;
  const there = state.hasAllIds() ? located(keysFrom(allRows("call_names"), given), state.watermarks.indexed) : scope;
  return `${given} AND ${unstored("calls", there)} AND ${unstored(allRows("call_parts"), scope)}`;
}
