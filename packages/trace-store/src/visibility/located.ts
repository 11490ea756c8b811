import type { Parameters } from "../engine/parameters.js";
import { idKey } from "../schema/id-key.js";
import type { CallKey } from "../stored-calls/call-key.js";

/**
 * The condition that a complete call is where some calls are: then the table's key finds them. `keys` are projects and
 * `idKey`s, as {@link keysOf} and {@link keysFrom} make them; `call_ids` has the calls up to the version `indexed`. Other calls may be there, too.
 */
export function located(keys: string, indexed: bigint): string {
  const where = [
    `SELECT project_id, started_at FROM call_ids WHERE (project_id, id_key) IN (${keys})`,
    `SELECT project_id, started_at FROM calls WHERE version > ${indexed} AND (project_id, ${idKey("id")}) IN (${keys})`,
  ];
  return `(project_id, started_at) IN (${where.join(" UNION ALL ")})`;
}

/**
 * The condition that a complete call is where one call is, for two statements: what `call_ids` has, and if that does not find it
 * what is newer. Both together take longer.
 */
export function locatedIn(p: Parameters, part: "ids" | "newer", { project_id, id }: CallKey, indexed: bigint): string {
  if (part === "newer") return `version > ${indexed}`;
  const key = idKey(p.bind("String", id));
  return `started_at IN (SELECT started_at FROM call_ids WHERE project_id = ${p.bind("String", project_id)} AND id_key = ${key})`;
}

/** The keys of calls, for {@link located}: constants, which the engine looks up sooner than what a SELECT returns. */
export function keysOf(p: Parameters, calls: readonly CallKey[]): string {
  if (calls.length === 0) return "SELECT '', toUInt64(0) WHERE 0";
  const pairs = p.pairs(calls.map(({ project_id, id }) => [project_id, id] as const));
  const all = pairs.length === 1 ? pairs[0] : `arrayConcat(${pairs.join(", ")})`;
  return `arrayMap(call -> (tupleElement(call, 1), ${idKey("tupleElement(call, 2)")}), ${all})`;
}

/** A SELECT of the keys of the rows that a condition selects from a table with the columns `project_id` and `id`. */
export function keysFrom(table: string, condition: string): string {
  return `SELECT project_id, ${idKey("id")} FROM ${table} WHERE ${condition}`;
}
