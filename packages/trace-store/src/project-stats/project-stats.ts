import type { ApiSchemas } from "../api-schemas.js";
import type { Engine } from "../engine/engine.js";
import { runningSize } from "../visibility/running-calls.js";
import type { CallsSize } from "../visibility/running-calls.js";
import { Parameters } from "../engine/parameters.js";
import type { InFlight } from "../stored-calls/in-flight.js";
import { readWithRunning } from "../visibility/read-with-running.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import { newestRows } from "../schema/read-table.js";

export type ProjectStatsRequest = ApiSchemas["ProjectStatsReq"];
export type ProjectStats = ApiSchemas["ProjectStatsRes"];

interface StatsContext {
  engine: Engine;
  now: () => bigint;
  inFlight: InFlight;
}

type Measure = keyof ProjectStats;
type Included = Exclude<keyof ProjectStatsRequest, "project_id">;

interface Kind {
  included: Included;
  count: Measure;
  bytes?: Measure;
  /** SELECT of the `count` and `bytes` of a project, of calls perhaps the complete ones alone. None of it reads content. */
  select: (context: StatsContext, p: Parameters, projectId: string, only: "complete" | undefined) => string;
}

/** What a project has. */
const kinds: readonly Kind[] = [
  {
    included: "include_trace_storage_size",
    count: "call_count",
    bytes: "trace_storage_size_bytes",
    select: ({ now, inFlight }, p, projectId, only) => {
      const scope = { project_id: projectId, now: now(), inFlight };
      const select = ["toInt64(count()) AS calls", "toInt64(sum(size_bytes)) AS call_bytes"];
      const calls = visibleCalls(scope, p, { select, only, aggregation: "sums" });
      return `SELECT sum(calls) AS count, sum(call_bytes) AS bytes FROM (${calls})`;
    },
  },
  {
    included: "include_object_storage_size",
    count: "object_version_count",
    bytes: "objects_storage_size_bytes",
    select: (_, p, projectId) => `${rowsOf("objects", "sum(size_bytes)", p, projectId)} AND deleted_at IS NULL`,
  },
  {
    included: "include_table_storage_size",
    count: "table_count",
    select: (_, p, projectId) => rowsOf("tables", "0", p, projectId),
  },
  {
    included: "include_table_storage_size",
    count: "table_row_count",
    bytes: "tables_storage_size_bytes",
    select: (_, p, projectId) => rowsOf("table_rows", "sum(size_bytes)", p, projectId),
  },
  {
    included: "include_file_storage_size",
    count: "file_count",
    bytes: "files_storage_size_bytes",
    select: (_, p, projectId) => rowsOf("files", "sum(size_bytes)", p, projectId),
  },
  {
    included: "include_feedback",
    count: "feedback_count",
    select: (_, p, projectId) => rowsOf("feedback", "0", p, projectId),
  },
];

type ProjectTable = "objects" | "tables" | "table_rows" | "files" | "feedback";

function rowsOf(table: ProjectTable, bytes: "sum(size_bytes)" | "0", p: Parameters, projectId: string): string {
  const mine = `project_id = ${p.bind("String", projectId)}`;
  return `SELECT count() AS count, ${bytes} AS bytes FROM ${newestRows(table)} WHERE ${mine}`;
}

/** Counts what a project has and adds up the bytes of its content. Kinds that are not included are 0. */
export async function projectStats(
  context: StatsContext,
  request: ProjectStatsRequest,
  signal?: AbortSignal,
): Promise<ProjectStats> {
  const stats: ProjectStats = {
    trace_storage_size_bytes: 0,
    objects_storage_size_bytes: 0,
    tables_storage_size_bytes: 0,
    files_storage_size_bytes: 0,
    call_count: 0,
    object_version_count: 0,
    table_count: 0,
    table_row_count: 0,
    file_count: 0,
    feedback_count: 0,
  };
  const included = kinds.filter((kind) => request[kind.included] !== false);
  if (included.length === 0) return stats;
  const statement = (only?: "complete") => {
    const p = new Parameters();
    const selects = included.map(
      (kind) =>
        `SELECT '${kind.count}' AS kind, count, bytes FROM (${kind.select(context, p, request.project_id, only)})`,
    );
    return { sql: selects.join(" UNION ALL "), params: p };
  };
  const read = async (only?: "complete") => await context.engine.rows<Row>(() => statement(only), { signal });
  const scope = { project_id: request.project_id, now: context.now(), inFlight: context.inFlight };
  const withRunning = (complete: Row[], running: CallsSize): Row[] => [...complete, { kind: "call_count", ...running }];
  const rows = await readWithRunning(scope, runningSize(scope), read, withRunning);
  for (const row of rows) {
    const { count, bytes } = included.find((kind) => kind.count === row.kind) ?? {};
    if (count !== undefined) stats[count] += Number(row.count);
    if (bytes !== undefined) stats[bytes] += Number(row.bytes);
  }
  return stats;
}

interface Row {
  kind: Measure;
  count: string | number;
  bytes: string | number;
}
