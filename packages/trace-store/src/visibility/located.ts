import type { Parameters } from "../engine/parameters.js";
import { idKey } from "../schema/id-key.js";
import type { CallKey } from "../stored-calls/call-key.js";

/**
 * The condition that a complete call is where some calls are: then the table's key finds them. `keys` is a SELECT of projects
 * and `idKey`s, as {@link keysOf} makes it; `call_ids` has the calls up to the version `indexed`. Other calls may be there, too.
 */
export function located(keys: string, indexed: bigint): string {
  const where = [
    `SELECT project_id, started_at FROM call_ids WHERE (project_id, id_key) IN (${keys})`,
    `SELECT project_id, started_at FROM calls WHERE version > ${indexed} AND (project_id, ${idKey("id")}) IN (${keys})`,
  ];
  return `(project_id, started_at) IN (${where.join(" UNION ALL ")})`;
}

/** A SELECT of the keys of calls, for {@link located}. Parameters are split as those of `in` are. */
export function keysOf(p: Parameters, calls: readonly CallKey[]): string {
  const pairs = p.pairs(calls.map(({ project_id, id }) => [project_id, id] as const));
  const rows = pairs.map((chunk) => `SELECT arrayJoin(${chunk}) AS call`).join(" UNION ALL ");
  return `SELECT tupleElement(call, 1), ${idKey("tupleElement(call, 2)")} FROM (${rows || "SELECT ('', '') AS call WHERE 0"})`;
}

/** A SELECT of the keys of the rows that a condition selects from a table with the columns `project_id` and `id`. */
export function keysFrom(table: string, condition: string): string {
  return `SELECT project_id, ${idKey("id")} FROM ${table} WHERE ${condition}`;
}
