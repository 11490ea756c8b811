/** One call with its start and its end, in a trace of its own. */
export function batchOf(project: string, id: string) {
  const start = {
    project_id: `local/${project}`,
    id,
    trace_id: id || "none",
    op_name: "answer",
    started_at: "2026-04-10T09:00:00Z",
    inputs: {},
    attributes: {},
  };
  const end = { project_id: `local/${project}`, id, ended_at: "2026-04-10T09:00:01Z", summary: {}, output: id };
  return {
    batch: [
      { mode: "start", req: { start } },
      { mode: "end", req: { end } },
    ],
  };
}
