import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { allRows } from "../schema/read-table.js";
import { byVersion } from "./change.js";
import type { Change } from "./change.js";

/** More changes are not read one by one. */
const maxChanges = 10_000;
/** The clock of the engine, by which deletions are dated, may differ from that of the service so much. */
const clockToleranceUs = 600_000_000n;

interface Row {
  kind: Change["kind"];
  call: string;
  feedback: string;
  changed: string;
}

/**
 * The changes of a project after one version up to another, out of the tables; of several changes of a call the newest. Undefined
 * when there are more than 10,000.
 *
 * `calls` is read by the index over versions, of the others only versions and ids are read.
 */
export async function storedChanges(
  engine: Engine,
  projectId: string,
  { after, upTo, signal }: { after: bigint; upTo: bigint; signal?: AbortSignal | undefined },
): Promise<Change[] | undefined> {
  const p = new Parameters();
  const project = `project_id = ${p.bind("String", projectId)}`;
  const since = p.bind("UInt64", after);
  const deletedSince = p.time(after > clockToleranceUs ? after - clockToleranceUs : 0n);
  const limit = maxChanges + 1;
  const select = (kind: Change["kind"], columns: string, from: string) =>
    `SELECT '${kind}' AS kind, ${columns} FROM ${from} GROUP BY call, feedback LIMIT ${limit}`;
  const ofCall = "id AS call, '' AS feedback, max(version) AS changed";
  // Compaction writes what is hidden once more, with the time of the deletion.
  const hidden = `${allRows("call_hidden")} WHERE ${project} AND row_version > ${since} AND version = 0
    AND (compacted_at IS NULL OR hidden_at >= ${deletedSince})`;
  const changed = (table: string) => `${table} WHERE ${project} AND version > ${since}`;
  const selects = [
    select("call", ofCall, changed("calls")),
    select("call", ofCall, `${changed(allRows("call_parts"))} AND part = 'start' AND closed = 0`),
    select("call", ofCall, changed(allRows("call_names"))),
    select("removed", "id AS call, '' AS feedback, min(row_version) AS changed", hidden),
    select(
      "feedback",
      "call_id AS call, id AS feedback, max(version) AS changed",
      `${changed(allRows("feedback"))} AND call_id != ''`,
    ),
  ];
  const sql = `SELECT * FROM (${selects.join(" UNION ALL ")}) LIMIT ${limit}`;
  const rows = await engine.rows<Row>({ sql, params: p }, { signal });
  if (rows.length > maxChanges) return undefined;
  const changes = rows.map(({ kind, call, feedback, changed: version }) => ({
    kind,
    id: call,
    version: BigInt(version),
    ...(feedback !== "" && { feedback_id: feedback }),
  }));
  return changes.filter(({ version }) => version <= upTo).toSorted(byVersion);
}
