import type { ApiSchemas } from "../api-schemas.js";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import type { InFlight } from "../ingest/in-flight.js";
import { visibleCalls } from "../query/visible-calls.js";
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
  /** SQL over the rows of the project, by what it measures. None of it reads content. */
  measures: Partial<Record<Measure, string>>;
  /** The rows of the project. */
  from: (context: StatsContext, p: Parameters, projectId: string) => string;
}

/** What a project has: one statement each. */
const kinds: readonly Kind[] = [
  {
    included: "include_trace_storage_size",
    measures: { call_count: "sum(calls)", trace_storage_size_bytes: "sum(bytes)" },
    from: ({ now, inFlight }, p, projectId) => {
      const scope = { project_id: projectId, now: now(), inFlight };
      return `(${visibleCalls(scope, p, { select: ["count() AS calls", "sum(size_bytes) AS bytes"] })})`;
    },
  },
  {
    included: "include_object_storage_size",
    measures: { object_version_count: "count()", objects_storage_size_bytes: "sum(size_bytes)" },
    from: (_, p, projectId) => `${newestRows("objects")} WHERE ${ofProject(p, projectId)} AND deleted_at IS NULL`,
  },
  {
    included: "include_table_storage_size",
    measures: { table_count: "count()" },
    from: (_, p, projectId) => `${newestRows("tables")} WHERE ${ofProject(p, projectId)}`,
  },
  {
    included: "include_table_storage_size",
    measures: { table_row_count: "count()", tables_storage_size_bytes: "sum(size_bytes)" },
    from: (_, p, projectId) => `${newestRows("table_rows")} WHERE ${ofProject(p, projectId)}`,
  },
  {
    included: "include_file_storage_size",
    measures: { file_count: "count()", files_storage_size_bytes: "sum(size_bytes)" },
    from: (_, p, projectId) => `${newestRows("files")} WHERE ${ofProject(p, projectId)}`,
  },
  {
    included: "include_feedback",
    measures: { feedback_count: "count()" },
    from: (_, p, projectId) => `${newestRows("feedback")} WHERE ${ofProject(p, projectId)}`,
  },
];

const ofProject = (p: Parameters, projectId: string): string => `project_id = ${p.bind("String", projectId)}`;

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
  const results = await Promise.all(
    included.map(async ({ measures, from }) => {
      const statement = () => {
        const p = new Parameters();
        const columns = Object.entries(measures).map(([name, sql]) => `${sql} AS ${name}`);
        return { sql: `SELECT ${columns.join(", ")} FROM ${from(context, p, request.project_id)}`, params: p };
      };
      const [row] = await context.engine.rows<Partial<Record<Measure, string>>>(statement, { signal });
      return row ?? {};
    }),
  );
  for (const row of results) {
    for (const name of Object.keys(stats) as Measure[]) if (row[name] !== undefined) stats[name] = Number(row[name]);
  }
  return stats;
}
