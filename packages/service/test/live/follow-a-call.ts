import type { TracingClient } from "@heddle/client/tracing";

/**
 * What somebody does who looks at calls: follows a project, sees a call arrive, opens its trace, counts, turns the page, and takes
 * all of it along. Uses nothing but the client and `fetch`, so that it runs in a browser as well. Returns what was seen.
 */
export async function followACall(tracing: TracingClient, projectId: string): Promise<Record<string, unknown>> {
  const [entity = "", project = ""] = projectId.split("/");
  const { seq } = await tracing.callsPage({ project_id: projectId });
  const arrived = new Map<string, string>();
  for await (const { kind, call } of tracing.callsTail({ project_id: projectId, after: seq, select: ["trace_id"] })) {
    if (kind === "caught_up" && arrived.size === 0) {
      const call = (id: string, second: number) => ({
        project_id: projectId,
        id,
        trace_id: "trace",
        op_name: id,
        started_at: `2026-04-10T09:00:0${second}Z`,
        ended_at: "2026-04-10T09:00:09Z",
        attributes: {},
        inputs: { second },
        output: null,
        summary: {},
      });
      const batch = [call("agent", 1), { ...call("tool", 2), parent_id: "agent" }];
      await tracing.callsComplete({ entity, project, batch });
    }

    if (call !== undefined) arrived.set(call.id, call.trace_id ?? "");
    if (arrived.size === 2) break;
  }
  const { ids, parent, names } = await tracing.traceOutline({
    project_id: projectId,
    trace_id: arrived.get("tool") ?? "",
  });
  const { total } = await tracing.callsAggregate({ project_id: projectId, metrics: ["count", "errors"] });
  const first = await tracing.callsPage({ project_id: projectId, limit: 1, select: ["inputs.second"] });
  const second = await tracing.callsPage({
    project_id: projectId,
    limit: 1,
    select: ["inputs.second"],
    after: first.next,
  });
  const { url } = await tracing.exportCreate({ project_id: projectId, format: "jsonl" });
  const lines = (await (await fetch(url)).text()).trimEnd().split("\n");
  return {
    arrived: [...arrived.keys()].toSorted(),
    outline: { ids, parent, names },
    total: total.values,
    pages: [...first.calls, ...second.calls].map(({ id, values }) => [id, values]),
    has_more: second.has_more,
    exported: lines.length,
  };
}
