import { mainThread } from "@heddle/concurrency";
import { mapErrors } from "@heddle/errors";
import { withMembers } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import type { Schemas } from "@heddle/server-stub/tracing";
import { formatRef } from "@heddle/trace-model";
import type { TraceStore } from "@heddle/trace-store";
import { splitProject } from "../access/project-id.js";
import type { Outcome } from "./act-on-matching.js";
import { callsById } from "./calls-by-id.js";
import { datasetRow, tableOf } from "./dataset-rows.js";
import type { DatasetColumn } from "./dataset-rows.js";

/** Rows to add to a version of a dataset. */
interface AddedRows {
  project_id: string;
  object_id: string;
  /** The digest of the version. */
  base: string;
  /** Of the calls. */
  ids: readonly string[];
  columns: readonly DatasetColumn[];
  userId: string;
  signal: AbortSignal;
}

/** Rows are made for so long before others get to run. */
const sliceMs = 2;

/** Stores a version of a dataset that has the rows of a version and, after them, one of each call. */
export async function addRows(
  { store }: { store: TraceStore },
  { project_id, object_id, base, ids, columns, userId, signal }: AddedRows,
): Promise<Outcome<Schemas["DatasetCreateRes"]>> {
  const object = await store.objects.read({ project_id, object_id, digest: base });
  const table = tableOf(project_id, object);
  const rows: JsonText[] = [];
  let found = 0;
  let since = performance.now();
  const wanted = [...new Set(columns.map(({ column }) => column))];
  for await (const calls of callsById(store, project_id, { ids, columns: wanted, signal })) {
    for (const call of calls) {
      found++;
      const row = datasetRow(call, columns);
      if (row !== undefined) rows.push(row);
      if (performance.now() - since < sliceMs) continue;
      await mainThread.giveWay();
      since = performance.now();
    }
  }
  const skipped = { gone: ids.length - found, no_values: found - rows.length };
  if (rows.length === 0)
    return { done: 0, skipped, object_id, digest: object.digest, version_index: object.version_index };
  // The rows are not an argument of the user, so an error in them has no loc there.
  const created = await mapErrors(
    (error) => error.with({ loc: undefined }),
    async () => {
      const updates = rows.map((row) => ({ append: { row } }));
      const { digest } = await store.tables.update({ project_id, base_digest: table, updates });
      const { entity = "", project = "" } = splitProject(project_id) ?? {};
      const ref = formatRef({ kind: "table", entity, project, digest, edges: [] });
      const val = withMembers(object.val, { rows: JSON.stringify(ref) });
      return await store.objects.create({ project_id, object_id, val, wb_user_id: userId });
    },
  );
  return { done: rows.length, skipped, object_id, digest: created.digest, version_index: created.version_index };
}
