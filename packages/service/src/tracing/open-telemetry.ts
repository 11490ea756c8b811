import type { HeddleError } from "@heddle/errors";
import { reply } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import {
  decodeTraces,
  encodeTracesResponse,
  projectOf,
  runStepsWithPauses,
  scanTraces,
  spansToCalls,
} from "@heddle/trace-model";
import type { CallPart, RejectedSpan, ScannedTraces, SpanCall } from "@heddle/trace-model";
import { ItemAccess } from "../access/item-access.js";
import { currentScope } from "../limits/request-scope.js";
import type { Caller, Services } from "../services.js";
import { PlaceholderOps } from "../ingest/placeholder-ops.js";

type CompleteCall = Extract<CallPart, { part: "complete" }>;

export function openTelemetryHandlers(services: Services): TracingHandlers<Caller>["openTelemetry"] {
  const { config } = services;
  const exportLimits = { maxSpans: config.limits.maxExportSpans, setting: "HEDDLE_OTLP_MAX_SPANS" };
  const ops = new PlaceholderOps(services, "This op was recorded through OpenTelemetry; its source is not known.");
  return {
    async exportTrace({ body, headers }, caller) {
      await services.store.yieldToCommits();
      const scanned = scanTraces(body.bytes, body.mediaType, exportLimits);
      const access = new ItemAccess(services.control, caller);
      const { allowed, rejected, refusal } = withoutRefused(scanned, headers.project_id, access);
      if (refusal !== undefined && allowed.resources.length === 0) throw refusal;
      await currentScope()?.hold(memoryOf(allowed, body.bytes));
      const decoded = await runStepsWithPauses(decodeTraces(allowed));
      await services.store.yieldToCommits();
      const { calls, rejected: unusable } = await runStepsWithPauses(
        spansToCalls(decoded, { project_id: headers.project_id, sessionThreads: config.otlpSessionThreads }),
      );
      rejected.push(...unusable);

      const projects = callsByProject(calls);
      const parts: CompleteCall[] = [];
      for (const [projectId, ofProject] of projects) {
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
      if (parts.length === 0 && refusal !== undefined) throw refusal;

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

/** Approximate bytes of what becomes of a span, and of a unit of work, until it is stored. */
const spanMemory = 2500;
const workMemory = 20;

function memoryOf({ resources, work }: ScannedTraces, bytes: Uint8Array): number {
  const spans = resources.reduce((sum, resource) => sum + spansOf(resource), 0);
  return 2 * bytes.length + spans * spanMemory + work() * workMemory;
}

function spansOf({ scopes }: ScannedTraces["resources"][number]): number {
  return scopes.reduce((sum, { spans }) => sum + spans.length, 0);
}

/** What the key may write of an export, before its spans are decoded, and why not the rest. */
function withoutRefused(scanned: ScannedTraces, fallback: string | undefined, access: ItemAccess) {
  const rejected: RejectedSpan[] = [];
  let refusal: HeddleError | undefined;
  const resources = scanned.resources.filter((resource) => {
    const projectId = projectOf(resource, fallback);
    const spans = spansOf(resource);
    const reason = projectId === undefined || spans === 0 ? undefined : access.refusal(projectId, spans);
    if (reason === undefined) return spans > 0;
    refusal ??= reason;
    const why = reason.code === "forbidden" ? `this key may not write to ${projectId}` : reason.message;
    rejected.push({ message: `${spans} span(s): ${why}`, spans });
    return false;
  });
  return { allowed: { ...scanned, resources }, rejected, refusal };
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
