import { HeddleError } from "@heddle/errors";
import type { CallEnd, CallStart } from "../calls/part.js";
import { firstCharacters } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { keysOf } from "./attribute-shape.js";
import { attributeTree, treeJson } from "./attribute-tree.js";
import { spanContent } from "./mapping.js";
import { opObjectId, spanOpName } from "../refs/op-object.js";
import { attempt, warn } from "./rejection.js";
import { senderAttributes } from "./sender-attributes.js";
import { firstText, listedEvents, sources } from "./sources.js";
import type { SpanData } from "./sources.js";
import type { Steps } from "../steps.js";
import type { Sources } from "./source-path.js";
import { checkIds, parentOf } from "./span-ids.js";
import { spanTimes } from "./span-times.js";
import { spanThread, topsOfSessions } from "./span-thread.js";
import { eventPart, linkPart, originPart, resourcePart, spanJson } from "./span-json.js";
import type { Attributes, RejectedSpan, ResourceSpans, Span, Traces } from "./traces.js";

const displayNames = sources(...senderAttributes.display_name);
const runIds = sources(...senderAttributes.wb_run_id);
const runSteps = sources(...senderAttributes.wb_run_step);
const lastRunSteps = sources(...senderAttributes.wb_run_step_end);
const levels = sources(...senderAttributes.level);
const statusMessages = sources(...senderAttributes.status_message);
const maxDisplayName = 1024;

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
 * be stored are listed in `rejected`, together with those the decoder gave up on, and behind them what of stored spans
 * could not be read. Sessions of OpenTelemetry are threads unless `sessionThreads` is false. A span without any time
 * started at `received_us`.
 */
export function* spansToCalls(
  traces: Traces,
  options: { project_id?: string; sessionThreads?: boolean; received_us?: bigint } = {},
): Steps<{ calls: SpanCall[]; rejected: RejectedSpan[] }> {
  const calls: SpanCall[] = [];
  const undecided: CallStart[] = [];
  const rejected = [...traces.rejected];
  const warnings: RejectedSpan[] = [];
  const opObjectIds = new Map<string, string>();
  const withoutProject = traces.resources.filter((resource) => !projectOf(resource, options.project_id));
  if (spanCount(withoutProject) > 0 && spanCount(withoutProject) === spanCount(traces.resources)) {
    throw new HeddleError("invalid", noProject);
  }
  for (const resource of traces.resources) {
    const origin = resourcePart(resource);
    warn("resource", resource.unreadable ?? [], warnings);
    const projectId = projectOf(resource, options.project_id);
    const wbRunId = attributeText(resource.attributes, "wandb.wb_run_id");
    for (const scope of resource.scopes) {
      const { json, storableAsIs } = originPart(origin, scope);
      const context: Context = {
        project_id: projectId,
        wb_run_id: wbRunId,
        origin: json,
        storableAsIs: storableAsIs && traces.wellFormed === true,
        sessionThreads: options.sessionThreads ?? true,
        undecided,
        receivedAt: options.received_us ?? 0n,
        warnings,
        opObjectIds,
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
  return { calls, rejected: [...rejected, ...warnings] };
}

function spanCount(resources: readonly ResourceSpans[]): number {
  const scopes = resources.flatMap((resource) => resource.scopes);
  return scopes.reduce((sum, { spans }) => sum + spans.length, 0);
}

const noProject =
  "no project: set the resource attributes wandb.entity and wandb.project (OTEL_RESOURCE_ATTRIBUTES), or send the header " +
  "project_id: entity/project (OTEL_EXPORTER_OTLP_HEADERS)";

/** What the spans of a scope have in common. */
interface Context {
  project_id: string | undefined;
  wb_run_id: string | undefined;
  origin: JsonText;
  /** No text around the spans needs a second look (see `CallStart`), and all are well formed. */
  storableAsIs: boolean;
  sessionThreads: boolean;
  receivedAt: bigint;
  /** Takes what could not be read of spans that are stored. */
  warnings: RejectedSpan[];
  /** Takes the spans of which only the whole export says whether they are turns. */
  undecided: CallStart[];
  /** By name: the spans of an export have few. */
  opObjectIds: Map<string, string>;
}

function opObjectIdOf(name: string, { opObjectIds }: Context): string {
  let id = opObjectIds.get(name);
  if (id === undefined) opObjectIds.set(name, (id = opObjectId(name)));
  return id;
}

function spanCall(span: Span, context: Context): SpanCall {
  const { project_id } = context;
  if (!project_id) throw new HeddleError("invalid", `span ${span.name}: ${noProject}`);
  checkIds(span);
  const { parentId, problem: parentProblem } = parentOf(span);
  const tree = attributeTree(span.attributes);
  const events = span.events.map(eventPart);
  const links = span.links.map(linkPart);
  const listed = listedEvents(tree);
  const data: SpanData = { tree, events: listed.length === 0 ? events : [...events, ...listed] };
  const { startedAt, endedAt, problem: timeProblem } = spanTimes(span, data, context.receivedAt);
  const { tooDeep } = tree.layout;
  if (span.unreadable || parentProblem || timeProblem || tooDeep.length > 0) {
    const deep = tooDeep.map((key) => `the attribute ${firstCharacters(key, 100)} is too deep to be unfolded`);
    warn(`span ${span.name}`, [...(span.unreadable ?? []), parentProblem, timeProblem, ...deep], context.warnings);
  }
  const attributes = treeJson(tree);
  const otelSpan = spanJson(span, { parentId, attributes, events, links, origin: context.origin });
  const content = spanContent(data, attributes, otelSpan);
  const storableAsIs =
    context.storableAsIs && tree.storableAsIs && [...events, ...links].every((part) => part.storableAsIs)
      ? true
      : undefined;
  const objectId = opObjectIdOf(span.name, context);
  // Readers see the name as it is, not the id that was made of it.
  const isChanged = objectId !== span.name && span.name.trim() !== "";
  const displayName = firstText(displayNames, data) ?? (isChanged ? span.name : undefined);
  const thread = spanThread(data, parentId === undefined, context.sessionThreads);
  const start: CallStart = {
    project_id,
    id: span.span_id,
    trace_id: span.trace_id,
    parent_id: parentId,
    op_name: spanOpName(span.name),
    started_at: startedAt,
    display_name: displayName === undefined ? undefined : firstCharacters(displayName, maxDisplayName),
    thread_id: thread.threadId,
    turn_id: thread.turn === true && thread.threadId !== undefined ? span.span_id : undefined,
    wb_run_id: runId(project_id, context.wb_run_id ?? firstText(runIds, data)),
    wb_run_step: runStep(runSteps, data),
    attributes: content.attributes,
    inputs: content.inputs,
    source: "otel",
    storableAsIs,
    kind: content.kind,
    usageIncludes: content.usageIncludes,
  };
  const end: CallEnd = {
    project_id,
    id: span.span_id,
    ended_at: endedAt,
    started_at: startedAt,
    output: content.output,
    summary: content.summary,
    exception: exceptionOf(span, data),
    wb_run_step_end: runStep(lastRunSteps, data),
    storableAsIs,
    usage: content.usage,
  };
  if (thread.turn === "unknown") context.undecided.push(start);
  return { start, end, opObjectId: objectId };
}

/** A failed span always carries an exception, since that is what makes the call's status an error. */
function exceptionOf({ status, events }: Span, data: SpanData): string | undefined {
  if (status.code !== 2 && firstText(levels, data) !== "ERROR") return undefined;
  if (status.message !== "") return status.message;
  const event = events.find(({ name }) => name === "exception");
  const type = event && attributeText(event.attributes, "exception.type");
  const message = event && attributeText(event.attributes, "exception.message");
  return [type, message].filter(Boolean).join(": ") || (firstText(statusMessages, data) ?? "error");
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
