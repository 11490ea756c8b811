import type { Parameters } from "../engine/parameters.js";
import { newestRows } from "../schema/read-table.js";

/** The display name of a call: the last rename, be it to nothing, else the name it was started with. */
export const displayName = "if(renamed_id = '', display_name, new_name)";

export function namesJoin(project: string, any: boolean): string {
  const source = any ? `FROM ${newestRows("call_names")} WHERE project_id = ${project}` : "WHERE 0";
  const columns = any ? "id AS renamed_id, display_name AS new_name" : "'' AS renamed_id, '' AS new_name";
  return `LEFT JOIN (SELECT ${columns} ${source}) AS names ON renamed_id = id`;
}

/** The renames of some calls, for a page that is shown: rows of `id`, `display_name` and `version`. */
export function renames(p: Parameters, projectId: string, ids: readonly string[]): string {
  const mine = `project_id = ${p.bind("String", projectId)} AND ${p.in("id", "String", ids)}`;
  return `SELECT id, display_name, version FROM ${newestRows("call_names")} WHERE ${mine}`;
}
