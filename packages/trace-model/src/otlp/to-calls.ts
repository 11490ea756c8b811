import { HeddleError } from "@heddle/errors";
import type { CallEnd, CallStart } from "../calls/part.js";
import type { JsonText } from "../json/scan.js";
import { fromNanoseconds, isStorableTime, parseTime } from "../time.js";
import { keysOf } from "./attribute-shape.js";
import { attributeTree, treeJson } from "./attribute-tree.js";
import { spanContent } from "./mapping.js";
import { opObjectId, spanOpName } from "./op-object.js";
import { attempt } from "./rejection.js";
import { firstText, sources } from "./sources.js";
import type { SpanData } from "./sources.js";
import type { Steps } from "./steps.js";
import type { Sources } from "./source-path.js";
import { spanThread, topsOfSessions } from "./span-thread.js";
import { eventPart, linkPart, originJson, resourcePart, spanJson } from "./span-json.js";
import type { Attributes, RejectedSpan, ResourceSpans, Span, Traces } from "./traces.js";

const displayNames = sources("wandb.display_name");
const runIds = sources("wandb.wb_run_id");
const runSteps = sources("wandb.wb_run_step");
const lastRunSteps = sources("wandb.wb_run_step_end");
/** Langfuse's own times win over those of the span. */
const startTimes = sources("langfuse.startTime");
const endTimes = sources("langfuse.endTime");

/**
 * A complete call made from a span. `op_name` is still a name: the caller stores the op object `opObjectId` and puts in
 * its ref.
 */
export interface SpanCall {
  start: CallStart;
  end: CallEnd;
  opObjectId: string;
}

/**
 * Turns spans into calls, one in each step. The project is named by the resource (`wandb.entity` and `wandb.project`), else by
 * `project_id`. Throws `invalid` when there are spans and none of them has a project; otherwise spans that cannot
 * be stored are listed in `rejected`, together with those the decoder gave up on. Sessions of OpenTelemetry are threads
 * unless `sessionThreads` is false.
 */
export function* spansToCalls(
  traces: Traces,
  options: { project_id?: string; sessionThreads?: boolean } = {},
): Steps<{ calls: SpanCall[]; rejected: RejectedSpan[] }> {
  const calls: SpanCall[] = [];
  const undecided: CallStart[] = [];
  const rejected = [...traces.rejected];
  const homeless = traces.resources.filter((resource) => !projectOf(resource, options.project_id));
  if (spanCount(homeless) > 0 && spanCount(homeless) === spanCount(traces.resources)) {
    throw new HeddleError("invalid", noProject);
  }
  for (const resource of traces.resources) {
    const { json, storableAsIs } = resourcePart(resource);
    const projectId = projectOf(resource, options.project_id);
    const wbRunId = attributeText(resource.attributes, "wandb.wb_run_id");
    for (const scope of resource.scopes) {
      const context: Context = {
        project_id: projectId,
        wb_run_id: wbRunId,
        origin: originJson(json, scope),
        storableAsIs: storableAsIs && traces.wellFormed === true,
        sessionThreads: options.sessionThreads ?? true,
        undecided,
      };
      for (const span of scope.spans) {
        const call = attempt(() => spanCall(span, context), rejected);
        if (call) calls.push(call);
        yield;
      }
    }
  }
  const starts = undecided.length === 0 ? [] : calls.map(({ start }) => start);
  for (const start of topsOfSessions(undecided, starts)) start.turn_id = start.id;
  return { calls, rejected };
}

function spanCount(resources: readonly ResourceSpans[]): number {
  const scopes = resources.flatMap((resource) => resource.scopes);
  return scopes.reduce((sum, { spans }) => sum + spans.length, 0);
}

const noProject =
  "no project: set the resource attributes wandb.entity and wandb.project, or send the header project_id: entity/project";

/** What the spans of a scope have in common. */
interface Context {
  project_id: string | undefined;
  wb_run_id: string | undefined;
  origin: JsonText;
  /** No text around the spans needs a second look (see `CallStart`), and all are well formed. */
  storableAsIs: boolean;
  sessionThreads: boolean;
  /** Takes the spans of which only the whole export says whether they are turns. */
  undecided: CallStart[];
}

function spanCall(span: Span, context: Context): SpanCall {
  const { project_id } = context;
  if (!project_id) throw new HeddleError("invalid", `span ${span.name}: ${noProject}`);
  checkIds(span);
  const tree = attributeTree(span.attributes);
  const { problem } = tree.layout;
  if (problem !== undefined) throw new HeddleError("invalid", `span ${span.name}: ${problem}`);
  const events = span.events.map(eventPart);
  const links = span.links.map(linkPart);
  const data: SpanData = { tree, events };
  const startedAt = overriddenTime(startTimes, data) ?? span.start_us;
  const endedAt = overriddenTime(endTimes, data) ?? (span.end_us || span.start_us);
  if (!isStorableTime(startedAt) || !isStorableTime(endedAt)) {
    throw new HeddleError("invalid", `span ${span.name}: its times are outside the years 1900 to 2299`);
  }
  const attributes = treeJson(tree);
  const otelSpan = spanJson(span, { attributes, events, links, origin: context.origin });
  const content = spanContent(data, attributes, otelSpan);
  const storableAsIs =
    context.storableAsIs && tree.storableAsIs && [...events, ...links].every((part) => part.storableAsIs)
      ? true
      : undefined;
  const opName = spanOpName(span.name);
  const thread = spanThread(data, span.parent_span_id === "", context.sessionThreads);
  const start: CallStart = {
    project_id,
    id: span.span_id,
    trace_id: span.trace_id,
    parent_id: span.parent_span_id || undefined,
    op_name: opName,
    started_at: startedAt,
    display_name: firstText(displayNames, data)?.slice(0, 1024),
    thread_id: thread.threadId,
    turn_id: thread.turn === true && thread.threadId !== undefined ? span.span_id : undefined,
    wb_run_id: runId(project_id, context.wb_run_id ?? firstText(runIds, data)),
    wb_run_step: runStep(runSteps, data),
    attributes: content.attributes,
    inputs: content.inputs,
    source: "otel",
    storableAsIs,
  };
  const end: CallEnd = {
    project_id,
    id: span.span_id,
    ended_at: endedAt,
    started_at: startedAt,
    output: content.output,
    summary: content.summary,
    exception: exceptionOf(span),
    wb_run_step_end: runStep(lastRunSteps, data),
    storableAsIs,
    usage: content.usage,
  };
  if (thread.turn === "unknown") context.undecided.push(start);
  return { start, end, opObjectId: opObjectId(opName) };
}

const noTraceId = "0".repeat(32);
const noSpanId = "0".repeat(16);

function checkIds({ name, trace_id, span_id, parent_span_id }: Span): void {
  if (trace_id.length !== 32 || trace_id === noTraceId) {
    throw new HeddleError("invalid", `span ${name}: the trace id must be 16 bytes, not all zero`);
  }
  if (span_id.length !== 16 || span_id === noSpanId) {
    throw new HeddleError("invalid", `span ${name}: the span id must be 8 bytes, not all zero`);
  }
  if (parent_span_id !== "" && parent_span_id.length !== 16) {
    throw new HeddleError("invalid", `span ${name}: the parent span id must be 8 bytes`);
  }
}

/** A failed span always carries an exception, since that is what makes the call's status an error. */
function exceptionOf({ status, events }: Span): string | undefined {
  if (status.code !== 2) return undefined;
  if (status.message !== "") return status.message;
  const event = events.find(({ name }) => name === "exception");
  const type = event && attributeText(event.attributes, "exception.type");
  const message = event && attributeText(event.attributes, "exception.message");
  return [type, message].filter(Boolean).join(": ") || "error";
}

/** The project that a resource names, else the other one. */
export function projectOf(
  { attributes }: Pick<ResourceSpans, "attributes">,
  fallback: string | undefined,
): string | undefined {
  const entity = attributeText(attributes, "wandb.entity");
  const project = attributeText(attributes, "wandb.project");
  return entity && project ? `${entity}/${project}` : fallback;
}

function attributeText({ shape, values }: Attributes, key: string): string | undefined {
  const value = values[keysOf(shape).lastIndexOf(key)];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Run ids are `entity/project/run`; exporters usually know the last part only. */
function runId(projectId: string, id: string | undefined): string | undefined {
  return id === undefined || id.includes("/") ? id : `${projectId}/${id}`;
}

function runStep(candidates: Sources, data: SpanData): number | undefined {
  const value = Number(firstText(candidates, data));
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** ISO text, unix nanoseconds as a whole number, or unix seconds with a fraction. */
function overriddenTime(candidates: Sources, data: SpanData): bigint | undefined {
  const value = firstText(candidates, data);
  if (value === undefined) return undefined;
  if (/^\d{14,20}$/.test(value)) return fromNanoseconds(BigInt(value));
  return parseTime(value);
}
