import type { JsonText } from "@heddle/exact-json";
import { formatTime } from "../time.js";
import { attributeTree, treeJson } from "./attribute-tree.js";
import { spanKinds, statusCodes } from "./traces.js";
import type { Attributes, ResourceSpans, Scope, Span, SpanEvent, SpanLink } from "./traces.js";
import { textJson } from "./value-json.js";

/**
 * A JSON text besides the attributes of a span, and whether its attributes are storable as they are (see
 * `AttributeTree`).
 */
export interface SpanPart {
  json: JsonText;
  storableAsIs: boolean;
}

/** The whole span as it is kept under `attributes.otel_span`; the parts are JSON texts. */
export function spanJson(
  span: Span,
  parts: {
    parentId: string | undefined;
    attributes: JsonText;
    events: readonly SpanPart[];
    links: readonly SpanPart[];
    origin: JsonText;
  },
): JsonText {
  const { trace_id, span_id, status } = span;
  const code = statusCodes[status.code] ?? "UNSET";
  return (
    `{"name":${textJson(span.name)}` +
    `,"context":{"trace_id":"${trace_id}","span_id":"${span_id}","trace_state":${textJson(span.trace_state)}}` +
    `,"kind":"${spanKinds[span.kind] ?? "UNSPECIFIED"}"` +
    `,"parent_id":${parts.parentId === undefined ? "null" : `"${parts.parentId}"`}` +
    `,"start_time":"${formatTime(span.start_us)}","end_time":"${formatTime(span.end_us)}"` +
    `,"status":{"code":"${code}","message":${textJson(status.message)}}` +
    `,"attributes":${parts.attributes}${countJson("dropped_attributes_count", span.dropped_attributes_count)}` +
    `,"events":${listJson(parts.events)}${countJson("dropped_events_count", span.dropped_events_count)}` +
    `,"links":${listJson(parts.links)}${countJson("dropped_links_count", span.dropped_links_count)}` +
    `,${parts.origin}}`
  );
}

/** A member unless it is 0. */
function countJson(name: string, count = 0): string {
  return count > 0 ? `,"${name}":${count}` : "";
}

/** A member unless it is empty. */
function urlJson(url = ""): string {
  return url === "" ? "" : `,"schema_url":${textJson(url)}`;
}

/** The members that are the same for all spans of a scope. */
export function originPart(resource: SpanPart, { name, version, attributes, schema_url }: Scope): SpanPart {
  const content = attributes && attributesPart(attributes);
  const scope = `{"name":${textJson(name)},"version":${textJson(version)}${content ? `,"attributes":${content.json}` : ""}${urlJson(schema_url)}}`;
  return {
    json: `"resource":${resource.json},"scope":${scope}`,
    storableAsIs: resource.storableAsIs && content?.storableAsIs !== false,
  };
}

/** The resource a span came from. */
export function resourcePart({ attributes, dropped_attributes_count, schema_url }: ResourceSpans): SpanPart {
  const content = attributesPart(attributes);
  return {
    json: `{"attributes":${content.json},"dropped_attributes_count":${dropped_attributes_count}${urlJson(schema_url)}}`,
    storableAsIs: content.storableAsIs,
  };
}

/** An event; its attributes once more on their own. */
export function eventPart(event: SpanEvent): SpanPart & { name: string; attributes: JsonText } {
  const { json: attributes, storableAsIs } = attributesPart(event.attributes);
  const json =
    `{"name":${textJson(event.name)},"timestamp":"${formatTime(event.time_us)}"` +
    `,"attributes":${attributes},"dropped_attributes_count":${event.dropped_attributes_count}}`;
  return { name: event.name, attributes, json, storableAsIs };
}

export function linkPart(link: SpanLink): SpanPart {
  const { json: attributes, storableAsIs } = attributesPart(link.attributes);
  const json =
    `{"trace_id":"${link.trace_id}","span_id":"${link.span_id}","trace_state":${textJson(link.trace_state)}` +
    `,"attributes":${attributes},"dropped_attributes_count":${link.dropped_attributes_count},"flags":${link.flags}}`;
  return { json, storableAsIs };
}

function attributesPart(attributes: Attributes): SpanPart {
  const tree = attributeTree(attributes);
  return { json: treeJson(tree), storableAsIs: tree.storableAsIs };
}

function listJson(parts: readonly SpanPart[]): JsonText {
  return parts.length === 0 ? "[]" : `[${parts.map(({ json }) => json).join(",")}]`;
}
