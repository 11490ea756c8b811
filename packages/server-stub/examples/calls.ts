import { Problem } from "@heddle/server-stub";
import type { ServerOptions } from "@heddle/server-stub";
import type { CallsQueryStreamItem, TracingHandlers } from "@heddle/server-stub/tracing";

interface Caller {
  projects: string[];
}

const stored = new Map<string, CallsQueryStreamItem>();

/** Three operations; the others respond with 501. */
export const handlers: Partial<TracingHandlers<Caller>["calls"]> = {
  callStart({ body: { start } }) {
    const { project_id, op_name, attributes, inputs, id = crypto.randomUUID(), trace_id = id } = start;
    const seconds = typeof start.started_at === "number" ? start.started_at : Date.parse(start.started_at) / 1000;
    const call = { id, trace_id, project_id, op_name, attributes, inputs };
    stored.set(id, { ...call, started_at: new Date(seconds * 1000).toISOString() });
    return { id, trace_id };
  },
  callRead({ body }) {
    const call = stored.get(body.id);
    return { call: call?.project_id === body.project_id ? call : null };
  },
  async *callsQueryStream({ body }) {
    for (const call of stored.values()) if (call.project_id === body.project_id) yield call;
  },
};

export const options: ServerOptions<Caller> = {
  authenticate({ secret }) {
    if (secret !== "open-sesame") throw new Problem(401, "unknown key");
    return { projects: ["acme/demo"] };
  },
  authorize({ project }, caller) {
    if (typeof project === "object" && !caller.projects.includes(project.id)) throw new Problem(403, "Forbidden");
  },
};
