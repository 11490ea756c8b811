import type { TrackingRun } from "@heddle/control-plane";
import { formatTime } from "@heddle/trace-model";
import type { GraphqlContext } from "./graphql-context.js";
import type { Arguments } from "./graphql/document.js";
import type { Fields } from "./graphql/select.js";
import { encodeId } from "./ids.js";

const mostRows = 10_000;

export function runFields({ services, work }: GraphqlContext, run: TrackingRun): Fields {
  const { project_id, name, fields, history_rows } = run;
  const slash = project_id.indexOf("/");
  const [entity, project] = [project_id.slice(0, slash), project_id.slice(slash + 1)];
  const read = async (start: number, limit: number) =>
    await services.control.trackingRuns.readHistory({ project_id, name, start, limit }, work.reserve);
  return {
    __typename: "Run",
    id: encodeId("Run", run.id),
    name,
    displayName: fields.display_name ?? name,
    description: fields.description ?? null,
    notes: fields.notes ?? null,
    group: fields.group ?? null,
    jobType: fields.job_type ?? null,
    state: fields.state ?? "running",
    tags: fields.tags ?? [],
    config: fields.config ?? "{}",
    summaryMetrics: fields.summary ?? "{}",
    wandbConfig: fields.config ?? "{}",
    sweepName: null,
    historyLineCount: history_rows,
    eventsLineCount: 0,
    logLineCount: 0,
    eventsTail: "[]",
    historyTail: async () => JSON.stringify(await read(Math.max(0, history_rows - 1), 1)),
    createdAt: formatTime(run.created_at),
    updatedAt: formatTime(run.updated_at),
    heartbeatAt: formatTime(run.updated_at),
    project: {
      id: encodeId("Project", "v1", project, entity),
      name: project,
      entity: { id: encodeId("Entity", entity), name: entity },
    },
    async history(args: Arguments) {
      const [from, to] = [Number(args["minStep"] ?? 0), Number(args["maxStep"] ?? mostRows)];
      if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from < 0 || to <= from) return [];
      return await read(from, Math.min(to - from, mostRows));
    },
  };
}
