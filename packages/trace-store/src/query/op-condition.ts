import type { NamedOps, OpLabel } from "@heddle/trace-model";
import type { Parameters } from "../engine/parameters.js";
import { newestRows } from "../schema/read-table.js";
import { opNamePart } from "./call-columns.js";

/** The condition that a call is of one of the ops; undefined for none. */
export function opCondition(
  p: Parameters,
  { versions, keys, labels }: NamedOps,
  projectId: string,
): string | undefined {
  const parts = [
    ...(versions.length > 0 ? [p.in("op_name", "String", versions)] : []),
    ...(keys.length > 0 ? [p.in("op_key", "String", keys)] : []),
    ...(labels.length > 0 ? [labelledVersions(p, labels, projectId)] : []),
  ];
  return parts.length > 1 ? `(${parts.join(" OR ")})` : parts[0];
}

/** Calls have the digest of their op's version in `op_name`; which version a label means is looked up. */
function labelledVersions(p: Parameters, labels: readonly OpLabel[], projectId: string): string {
  const keys = [...new Set(labels.flatMap((one) => one.keys))];
  const objectIds = [...new Set(labels.flatMap((one) => one.object_ids))];
  const wanted = labels.flatMap(({ label, object_ids }) => object_ids.map((id) => `${id}:${label}`));
  const scope = `project_id = ${p.bind("String", projectId)} AND kind = 'op' AND ${p.in("object_id", "String", objectIds)}`;
  const latest = `SELECT object_id, argMax(digest, (published_at, version_index)) FROM ${newestRows("objects")}
    WHERE ${scope} AND deleted_at IS NULL AND ${p.in("concat(object_id, ':latest')", "String", wanted)} GROUP BY object_id`;
  const indexed = `SELECT object_id, digest FROM ${newestRows("objects")}
    WHERE ${scope} AND ${p.in("concat(object_id, ':v', toString(version_index))", "String", wanted)}`;
  const aliased = `SELECT object_id, digest FROM ${newestRows("object_aliases")}
    WHERE ${scope} AND ${p.in("concat(object_id, ':', alias)", "String", wanted)}`;
  const version = `(${opNamePart}, substring(op_name, length(op_key) + 2))`;
  return `(${p.in("op_key", "String", keys)} AND ${version} IN (${latest} UNION ALL ${indexed} UNION ALL ${aliased}))`;
}
