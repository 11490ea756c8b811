import type { HeddleError } from "@heddle/errors";
import { reply } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { decodeTraces, encodeTracesResponse, spansToCalls } from "@heddle/trace-model";
import type { CallPart, SpanCall } from "@heddle/trace-model";
import { ItemAccess } from "../access/item-access.js";
import type { Caller, Services } from "../services.js";
import { PlaceholderOps } from "../ingest/placeholder-ops.js";

type CompleteCall = Extract<CallPart, { part: "complete" }>;

export function openTelemetryHandlers(services: Services): TracingHandlers<Caller>["openTelemetry"] {
  const ops = new PlaceholderOps(services, "This op was recorded through OpenTelemetry; its source is not known.");
  return {
    async exportTrace({ body, headers }, caller) {
      await services.store.yieldToCommits();
      const decoded = decodeTraces(body.bytes, body.mediaType);
      await services.store.yieldToCommits();
      const { calls, rejected } = spansToCalls(decoded, {
        project_id: headers.project_id,
        sessionThreads: services.config.otlpSessionThreads,
      });

      const projects = callsByProject(calls);
      const access = new ItemAccess(services.control, caller);
      let firstRefusal: HeddleError | undefined;
      const parts: CompleteCall[] = [];
      for (const [projectId, ofProject] of projects) {
        const refusal = access.refusal(projectId, ofProject.length);
        if (refusal !== undefined) {
          firstRefusal ??= refusal;
          const why = refusal.code === "forbidden" ? `this key may not write to ${projectId}` : refusal.message;
          for (const { start } of ofProject) rejected.push({ message: `span ${start.id}: ${why}` });
          continue;
        }
        const refs = await ops.refs(
          projectId,
          ofProject.map(({ opObjectId }) => opObjectId),
        );
        for (const { start, end, opObjectId } of ofProject) {
          start.op_name = refs.get(opObjectId) ?? start.op_name;
          start.wb_user_id = caller.user_id;
          parts.push({ part: "complete", start, end });
        }
      }
      if (parts.length === 0 && firstRefusal !== undefined) throw firstRefusal;

      const stored = new Set(parts);
      for (const { index, message } of await services.store.ingest(parts)) {
        const part = parts[index];
        if (part === undefined) continue;
        stored.delete(part);
        rejected.push({ message: `span ${part.start.id}: ${message}` });
      }
      await access.record(Array.from(stored, ({ start }) => start.project_id));
      const response = encodeTracesResponse(rejected, body.mediaType);
      return reply(200, response.bytes, { "content-type": response.mediaType });
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
