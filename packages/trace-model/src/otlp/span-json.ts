import type { JsonText } from "../json/scan.js";
import { formatTime, fromNanoseconds } from "../time.js";
import { attributesJson } from "./attribute-tree.js";
import { type ResourceSpans, type Span, spanKinds, statusCodes } from "./traces.js";

/** The whole span as it is kept under `attributes.otel_span`; `attributes` and `resource` are given as JSON texts. */
export function spanJson(
  span: Span,
  attributes: JsonText,
  resource: JsonText,
  scope: { name: string; version: string },
): JsonText {
  const { trace_id, span_id, trace_state, status } = span;
  const code = statusCodes[status.code] ?? "UNSET";
  return (
    `{"name":${JSON.stringify(span.name)}` +
    `,"context":{"trace_id":"${trace_id}","span_id":"${span_id}","trace_state":${JSON.stringify(trace_state)}}` +
    `,"kind":"${spanKinds[span.kind] ?? "UNSPECIFIED"}"` +
    `,"parent_id":${span.parent_span_id === "" ? "null" : `"${span.parent_span_id}"`}` +
    `,"start_time":"${timeText(span.start_ns)}","end_time":"${timeText(span.end_ns)}"` +
    `,"status":{"code":"${code}","message":${JSON.stringify(status.message)}}` +
    `,"attributes":${attributes}` +
    `,"events":[${span.events.map(eventJson).join(",")}]` +
    `,"links":[${span.links.map(linkJson).join(",")}]` +
    `,"resource":${resource}` +
    `,"scope":{"name":${JSON.stringify(scope.name)},"version":${JSON.stringify(scope.version)}}}`
  );
}

/** The resource a span came from; the same text for all its spans. */
export function resourceJson({ attributes, dropped_attributes_count }: ResourceSpans): JsonText {
  return `{"attributes":${attributesJson(attributes)},"dropped_attributes_count":${dropped_attributes_count}}`;
}

function eventJson(event: Span["events"][number]): JsonText {
  return (
    `{"name":${JSON.stringify(event.name)},"timestamp":"${timeText(event.time_ns)}"` +
    `,"attributes":${attributesJson(event.attributes)},"dropped_attributes_count":${event.dropped_attributes_count}}`
  );
}

function linkJson(link: Span["links"][number]): JsonText {
  return (
    `{"trace_id":"${link.trace_id}","span_id":"${link.span_id}","trace_state":${JSON.stringify(link.trace_state)}` +
    `,"attributes":${attributesJson(link.attributes)},"dropped_attributes_count":${link.dropped_attributes_count},"flags":${link.flags}}`
  );
}

function timeText(ns: bigint): string {
  return formatTime(fromNanoseconds(ns));
}
