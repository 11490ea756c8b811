import { Problem, reply } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { decodeTraces, encodeTracesResponse, spansToCalls, type CallPart, type SpanCall } from "@heddle/trace-model";
import { allowWrite } from "../access.js";
import type { Caller, Services } from "../services.js";
import { OtelOps } from "./otel-ops.js";

export function openTelemetryHandlers(services: Services): TracingHandlers<Caller>["openTelemetry"] {
  const ops = new OtelOps(services);
  return {
    async exportTrace({ body, headers }, caller) {
      await services.store.turn();
      const decoded = decodeTraces(body.bytes, body.media_type);
      await services.store.turn();
      const { calls, rejected } = spansToCalls(decoded, { project_id: headers.project_id });

      const projects = callsByProject(calls);
      const refused = await refusedProjects(services, caller, projects.keys());
      const parts: CallPart[] = [];
      for (const [project_id, ofProject] of projects) {
        const problem = refused.get(project_id);
        if (problem !== undefined) {
          const why = problem.status === 403 ? `this key may not write to ${project_id}` : problem.message;
          for (const { start } of ofProject) rejected.push({ message: `span ${start.id}: ${why}` });
          continue;
        }
        const refs = await ops.refs(
          project_id,
          ofProject.map(({ op_object_id }) => op_object_id),
        );
        for (const { start, end, op_object_id } of ofProject) {
          start.op_name = refs.get(op_object_id) ?? start.op_name;
          start.wb_user_id = caller.user_id;
          parts.push({ part: "complete", start, end });
        }
      }
      const [first] = refused.values();
      if (parts.length === 0 && first !== undefined) throw first;

      for (const { index, message } of await services.store.ingest(parts)) {
        const part = parts[index];
        rejected.push({ message: `span ${part?.part === "complete" ? part.start.id : ""}: ${message}` });
      }
      const answer = encodeTracesResponse(rejected, body.media_type);
      return reply(200, answer.bytes, { "content-type": answer.media_type });
    },
  };
}

/** One export may carry resources of several projects. */
function callsByProject(calls: readonly SpanCall[]): Map<string, SpanCall[]> {
  const projects = new Map<string, SpanCall[]>();
  for (const call of calls) {
    const { project_id } = call.start;
    const ofProject = projects.get(project_id);
    if (ofProject === undefined) projects.set(project_id, [call]);
    else ofProject.push(call);
  }
  return projects;
}

/** Projects of an export that cannot be written, and why. */
async function refusedProjects(
  services: Services,
  caller: Caller,
  project_ids: Iterable<string>,
): Promise<Map<string, Problem>> {
  const refused = new Map<string, Problem>();
  for (const project_id of project_ids) {
    try {
      await allowWrite(services.control, caller, project_id);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      refused.set(project_id, error);
    }
  }
  return refused;
}
