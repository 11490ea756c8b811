import { Parameters } from "../../engine/parameters.js";
import type { IngestContext } from "../context.js";
import { pendingHidden } from "../memory/hidden-calls.js";
import { allRows } from "../../schema/read-table.js";
import { tableFacts } from "../../schema/schema.js";
import { storeWatermarks } from "./watermarks.js";

/** Marks rows instead of rewriting parts, and waits until it is done. Patch parts give wrong results on this engine. */
const deleteSettings = {
  lightweight_delete_mode: "alter_update",
  lightweight_deletes_sync: "2",
  allow_nondeterministic_mutations: 1,
} as const;

/**
 * Removes the rows that `call_hidden` hides and marks them, so that readers skip them. Rows of deleted
 * calls stay in `call_hidden` as the guard against late parts; those of replaced versions go with the next compaction.
 * Repeating it after a failure is harmless.
 *
 * Commits go on meanwhile: what they hide after the version `upTo` is left to the next compaction.
 */
export async function compactHidden(context: IngestContext, upTo: bigint): Promise<void> {
  const { engine, clock, state } = context;
  const { compacted } = state.watermarks;
  const settings = deleteSettings;
  const pending = (params: Parameters) => `FROM ${pendingHidden(compacted, params.bind("UInt64", upTo))}`;
  const count = new Parameters();
  const [bounds] = await engine.rows<{ rows: string; replaced: string; deleted: string; from: string; to: string }>({
    sql: `SELECT count() AS rows, countIf(version > 0) AS replaced, countIf(version = 0) AS deleted,
      toUnixTimestamp64Micro(min(started_at)) AS from, toUnixTimestamp64Micro(max(started_at)) AS to ${pending(count)}`,
    params: count,
  });
  if (bounds === undefined || bounds.rows === "0") return;
  // By key: a row that was not compacted yet may still lie under the one that was.
  const done = `SELECT project_id, id, version FROM ${allRows("call_hidden")}
    WHERE row_version > ${compacted} AND version > 0 AND compacted_at IS NOT NULL`;
  await engine.command({ sql: `DELETE FROM call_hidden WHERE (project_id, id, version) IN (${done})` }, { settings });
  if (bounds.replaced !== "0") {
    const params = new Parameters();
    const span = `started_at >= ${params.time(BigInt(bounds.from))} AND started_at <= ${params.time(BigInt(bounds.to))}`;
    const versions = `SELECT project_id, id, version ${pending(params)} WHERE version > 0`;
    await engine.command(
      { sql: `DELETE FROM calls WHERE ${span} AND (project_id, id, version) IN (${versions})`, params },
      { settings },
    );
  }
  if (bounds.deleted !== "0") {
    for (const [table, { compacted }] of tableFacts) {
      if (!compacted) continue;
      const params = new Parameters();
      const rows = `${pending(params)} WHERE version = 0`;
      // The single columns serve the indexes, the pair decides.
      const deleted = `project_id IN (SELECT project_id ${rows}) AND id IN (SELECT id ${rows})`;
      const sql = `DELETE FROM ${table} WHERE ${deleted} AND (project_id, id) IN (SELECT project_id, id ${rows})`;
      await engine.command({ sql, params }, { settings });
    }
  }
  const params = new Parameters();
  const columns = "project_id, id, version, started_at, reason, hidden_by, hidden_at";
  await engine.command({
    sql: `INSERT INTO call_hidden (${columns}, compacted_at, row_version)
      SELECT ${columns}, now64(3), ${params.bind("UInt64", clock.next())} ${pending(params)}`,
    params,
  });
  await storeWatermarks(context, { compacted: upTo });
}
