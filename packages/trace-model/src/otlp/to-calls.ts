import { withOtelSpan } from "../calls/otel-span.js";
import type { CallEnd, CallStart } from "../calls/part.js";
import { InvalidInput } from "../invalid-input.js";
import { stringValue } from "../json/members.js";
import type { JsonText } from "../json/scan.js";
import { fromNanoseconds, isStorableTime, parseTime } from "../time.js";
import { type AttributeTree, attributeTree, findAttribute, treeJson } from "./attribute-tree.js";
import { spanContent } from "./mapping.js";
import { opObjectId, spanOpName } from "./op-object.js";
import { attempt } from "./rejection.js";
import { resourceJson, spanJson } from "./span-json.js";
import type { Attribute, RejectedSpan, ResourceSpans, Span, Traces } from "./traces.js";

/** A complete call made from a span. `op_name` is still plain: the op object `op_object_id` is the store's to write. */
export interface SpanCall {
  start: CallStart;
  end: CallEnd;
  op_object_id: string;
}

/**
 * Turns spans into calls. The project is named by the resource (`wandb.entity` and `wandb.project`), else by
 * `project_id`. Throws InvalidInput when there are spans and none of them has a project; otherwise spans that cannot
 * be stored are listed in `rejected`, together with those the decoder gave up on.
 */
export function spansToCalls(
  traces: Traces,
  options: { project_id?: string } = {},
): { calls: SpanCall[]; rejected: RejectedSpan[] } {
  const calls: SpanCall[] = [];
  const rejected = [...traces.rejected];
  const homeless = traces.resources.filter((resource) => !projectOf(resource, options.project_id));
  if (spanCount(homeless) > 0 && spanCount(homeless) === spanCount(traces.resources)) {
    throw new InvalidInput(noProject);
  }
  for (const resource of traces.resources) {
    const project_id = projectOf(resource, options.project_id);
    const context = {
      project_id,
      resource: resourceJson(resource),
      wb_run_id: attributeText(resource.attributes, "wandb.wb_run_id"),
    };
    for (const scope of resource.scopes) {
      for (const span of scope.spans) {
        const call = attempt(() => spanCall(span, scope, context), rejected);
        if (call) calls.push(call);
      }
    }
  }
  return { calls, rejected };
}

function spanCount(resources: readonly ResourceSpans[]): number {
  const scopes = resources.flatMap((resource) => resource.scopes);
  return scopes.reduce((sum, { spans }) => sum + spans.length, 0);
}

const noProject =
  "no project: set the resource attributes wandb.entity and wandb.project, or send the header project_id: entity/project";

interface Context {
  project_id: string | undefined;
  resource: JsonText;
  wb_run_id: string | undefined;
}

function spanCall(span: Span, scope: { name: string; version: string }, context: Context): SpanCall {
  const { project_id } = context;
  if (!project_id) throw new InvalidInput(`span ${span.name}: ${noProject}`);
  checkIds(span);
  const tree = treeOf(span);
  const started_at = overriddenTime(tree, "startTime") ?? fromNanoseconds(span.start_ns);
  const ended_at = overriddenTime(tree, "endTime") ?? fromNanoseconds(span.end_ns || span.start_ns);
  if (!isStorableTime(started_at) || !isStorableTime(ended_at)) {
    throw new InvalidInput(`span ${span.name}: its times are outside the years 1900 to 2299`);
  }
  const content = spanContent(tree, span.events);
  const op_name = spanOpName(span.name);
  const session = text(tree, "gcp", "vertex", "agent", "session_id");
  const thread_id = text(tree, "wandb", "thread_id") ?? session;
  const isTurn = session !== undefined || findAttribute(tree, ["wandb", "is_turn"]) === "true";
  const start: CallStart = {
    project_id,
    id: span.span_id,
    trace_id: span.trace_id,
    parent_id: span.parent_span_id || undefined,
    op_name,
    started_at,
    display_name: text(tree, "wandb", "display_name")?.slice(0, 1024),
    thread_id,
    turn_id: thread_id !== undefined && isTurn ? span.span_id : undefined,
    wb_run_id: runId(project_id, context.wb_run_id ?? text(tree, "wandb", "wb_run_id")),
    wb_run_step: runStep(tree, "wb_run_step"),
    attributes: withOtelSpan(
      content.attributes,
      spanJson(span, tree.size === 0 ? "{}" : treeJson(tree), context.resource, scope),
    ),
    inputs: content.inputs,
    source: "otel",
  };
  const end: CallEnd = {
    project_id,
    id: span.span_id,
    ended_at,
    started_at,
    output: content.output,
    summary: content.summary,
    exception: exceptionOf(span),
    wb_run_step_end: runStep(tree, "wb_run_step_end"),
  };
  return { start, end, op_object_id: opObjectId(op_name) };
}

function checkIds({ name, trace_id, span_id, parent_span_id }: Span): void {
  if (trace_id.length !== 32 || /^0*$/.test(trace_id)) {
    throw new InvalidInput(`span ${name}: the trace id must be 16 bytes, not all zero`);
  }
  if (span_id.length !== 16 || /^0*$/.test(span_id)) {
    throw new InvalidInput(`span ${name}: the span id must be 8 bytes, not all zero`);
  }
  if (parent_span_id !== "" && parent_span_id.length !== 16) {
    throw new InvalidInput(`span ${name}: the parent span id must be 8 bytes`);
  }
}

function treeOf(span: Span): AttributeTree {
  try {
    return attributeTree(span.attributes);
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw new InvalidInput(`span ${span.name}: ${error.message}`);
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

function projectOf({ attributes }: ResourceSpans, fallback: string | undefined): string | undefined {
  const entity = attributeText(attributes, "wandb.entity");
  const project = attributeText(attributes, "wandb.project");
  return entity && project ? `${entity}/${project}` : fallback;
}

function attributeText(attributes: readonly Attribute[], key: string): string | undefined {
  const value = attributes.findLast((attribute) => attribute.key === key)?.value;
  return typeof value === "string" && value !== "" ? value : undefined;
}

function text(tree: AttributeTree, ...path: string[]): string | undefined {
  const json = findAttribute(tree, path);
  return json === undefined ? undefined : (stringValue(json) ?? json) || undefined;
}

/** Run ids are `entity/project/run`; exporters usually know the last part only. */
function runId(project_id: string, id: string | undefined): string | undefined {
  return id === undefined || id.includes("/") ? id : `${project_id}/${id}`;
}

function runStep(tree: AttributeTree, name: string): number | undefined {
  const value = Number(text(tree, "wandb", name));
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Langfuse's own times: ISO text, unix nanoseconds as a whole number, or unix seconds with a fraction. */
function overriddenTime(tree: AttributeTree, name: "startTime" | "endTime"): bigint | undefined {
  const value = text(tree, "langfuse", name);
  if (value === undefined) return undefined;
  if (/^\d{14,20}$/.test(value)) return fromNanoseconds(BigInt(value));
  return parseTime(value);
}
