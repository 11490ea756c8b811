import { Problem, reply } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { decodeTraces, encodeTracesResponse, spansToCalls, type CallPart } from "@heddle/trace-model";
import { allowWrite } from "../access.js";
import type { Caller, Services } from "../services.js";
import { OtelOps } from "./otel-ops.js";

export function openTelemetryHandlers(services: Services): TracingHandlers<Caller>["openTelemetry"] {
  const ops = new OtelOps(services);
  return {
    async exportTrace({ body, headers }, caller) {
      const decoded = decodeTraces(body.bytes, body.media_type);
      const { calls, rejected } = spansToCalls(decoded, { project_id: headers.project_id });

      const refused = await refusedProjects(services, caller, new Set(calls.map(({ start }) => start.project_id)));
      const parts: CallPart[] = [];
      for (const { start, end, op_object_id } of calls) {
        const problem = refused.get(start.project_id);
        if (problem !== undefined) {
          const why = problem.status === 403 ? `this key may not write to ${start.project_id}` : problem.message;
          rejected.push({ message: `span ${start.id}: ${why}` });
          continue;
        }
        const op_name = await ops.ref(start.project_id, op_object_id);
        parts.push({ part: "complete", start: { ...start, op_name, wb_user_id: caller.user_id }, end });
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

/** Projects of an export that cannot be written, and why; one export may carry resources of several. */
async function refusedProjects(
  services: Services,
  caller: Caller,
  project_ids: Set<string>,
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
