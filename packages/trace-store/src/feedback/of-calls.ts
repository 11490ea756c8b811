import type { JsonText } from "@heddle/exact-json";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { newestRows } from "../schema/read-table.js";
import { selectOf, columnFields, showRow } from "./query.js";
import type { ShownRow } from "./query.js";

/** What a call shows of its feedback. */
const fields = columnFields([
  "id",
  "feedback_type",
  "weave_ref",
  "payload",
  "creator",
  "created_at",
  "wb_user_id",
  "runnable_ref",
  "call_ref",
  "trigger_ref",
  "annotation_ref",
]);

/** The feedback on some calls, by call id, each as a JSON object, oldest first. One statement. */
export async function feedbackOfCalls(
  engine: Engine,
  projectId: string,
  callIds: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, JsonText[]>> {
  const p = new Parameters();
  const sql = `SELECT call_id, ${selectOf(fields)} FROM ${newestRows("feedback")}
    WHERE project_id = ${p.bind("String", projectId)} AND ${p.in("call_id", "String", callIds)}
    ORDER BY created_at, id`;
  const found = new Map<string, JsonText[]>();
  for await (const row of engine.stream<ShownRow & { call_id: string }>({ sql, params: p }, { signal })) {
    const list = found.get(row.call_id) ?? [];
    list.push(showRow(fields, row));
    found.set(row.call_id, list);
  }
  return found;
}
