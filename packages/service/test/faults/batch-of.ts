/** One call with its start and its end, in a trace of its own. */
export function batchOf(project: string, id: string, startedAt = "2026-04-10T09:00:00Z") {
  const start = {
    project_id: `local/${project}`,
    id,
    trace_id: id || "none",
    op_name: "answer",
    started_at: startedAt,
    inputs: {},
    attributes: {},
  };
  const endedAt = new Date(Date.parse(startedAt) + 1000).toISOString();
  const end = { project_id: `local/${project}`, id, ended_at: endedAt, summary: {}, output: id };
  return {
    batch: [
      { mode: "start", req: { start } },
      { mode: "end", req: { end } },
    ],
  };
}
