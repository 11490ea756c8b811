import { HeddleError } from "@heddle/errors";
import { stringEnd } from "@heddle/exact-json";
import type { Decoding } from "./decoding.js";
import {
  count,
  enumeration,
  fields,
  hexId,
  list,
  microseconds,
  object,
  objects,
  optionalId,
  text,
} from "./json-fields.js";
import type { Fields } from "./json-fields.js";
import { anyValue } from "./json-value.js";
import { spanKinds, statusCodes } from "./traces.js";
import type { Attributes, ScannedResource, ScannedScope, ScannedTraces, Span, SpanEvent, SpanLink } from "./traces.js";
import type { AttributeValue } from "./value-json.js";
import type { WorkBudget } from "./work-budget.js";

/**
 * Counts the spans of the JSON form of an ExportTraceServiceRequest: hex ids, 64-bit numbers as text or digits, enums by
 * number or name, keys in camelCase or snake_case. Throws `invalid` when it is not such a document.
 */
export function scanJsonTraces(bytes: Uint8Array, decoding: Decoding): ScannedTraces {
  const { budget } = decoding;
  countTokens(bytes, budget);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  let request: unknown;
  try {
    request = JSON.parse(quoteLongIntegers(text));
  } catch {
    throw new HeddleError("invalid", "the body is not a JSON document");
  }
  // The bytes hold no surrogates, but escapes may.
  const wellFormed = text.includes("\\u") && /\\u[dD][89a-fA-F]/.test(text) ? undefined : true;
  const resources = list(fields(request), "resourceSpans").map((item) => resourceSpans(fields(item), decoding));
  return { resources, wellFormed, work: () => budget.work };
}

/** Counts what JSON.parse would make a value of. */
function countTokens(bytes: Uint8Array, budget: WorkBudget): void {
  let tokens = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === quote) {
      for (index++; index < bytes.length && bytes[index] !== quote; index++) if (bytes[index] === backslash) index++;
    } else if (byte === comma || byte === brace || byte === bracket) {
      if (++tokens % tokensAtOnce === 0) budget.spend(tokensAtOnce);
    }
  }
}

const [quote, backslash, comma, brace, bracket] = [34, 92, 44, 123, 91];
const tokensAtOnce = 1000;

function resourceSpans(value: Fields, decoding: Decoding): ScannedResource {
  const resource = object(value, "resource", decoding);
  const result = { attributes: attributes(resource, decoding), dropped_attributes_count: dropped(resource) };
  const scopes = list(value, "scopeSpans").map((item) => scopeSpans(fields(item), decoding));
  const schemaUrl = text(value, "schemaUrl", decoding);
  return { ...result, schema_url: schemaUrl, scopes, unreadable: decoding.takeProblems() };
}

function scopeSpans(value: Fields, decoding: Decoding): ScannedScope {
  const scope = object(value, "scope", decoding);
  const scopeAttributes = attributes(scope, decoding);
  const spans = list(value, "spans");
  decoding.budget.countSpans(spans.length);
  return {
    name: text(scope, "name", decoding),
    version: text(scope, "version", decoding),
    ...(scopeAttributes.values.length > 0 && { attributes: scopeAttributes }),
    schema_url: text(value, "schemaUrl", decoding),
    spans: spans.map((item) => () => {
      decoding.startSpan();
      return span(fields(item), decoding);
    }),
  };
}

function span(value: Fields, decoding: Decoding): Span {
  const [events, links] = [objects(value, "events", decoding), objects(value, "links", decoding)];
  decoding.budget.spend(10 * (events.length + links.length));
  return {
    trace_id: hexId(value, "traceId"),
    span_id: hexId(value, "spanId"),
    parent_span_id: optionalId(value, "parentSpanId", decoding),
    trace_state: text(value, "traceState", decoding),
    name: text(value, "name", decoding),
    kind: enumeration(value, "kind", "SPAN_KIND_", spanKinds, decoding),
    start_us: microseconds(value, "startTimeUnixNano", decoding),
    end_us: microseconds(value, "endTimeUnixNano", decoding),
    attributes: attributes(value, decoding),
    dropped_attributes_count: dropped(value),
    events: events.map((item) => event(item, decoding)),
    dropped_events_count: count(value, "droppedEventsCount"),
    links: links.map((item) => link(item, decoding)),
    dropped_links_count: count(value, "droppedLinksCount"),
    status: status(object(value, "status", decoding), decoding),
    unreadable: decoding.takeProblems(),
  };
}

function status(value: Fields, decoding: Decoding): Span["status"] {
  return {
    code: enumeration(value, "code", "STATUS_CODE_", statusCodes, decoding),
    message: text(value, "message", decoding),
  };
}

function event(value: Fields, decoding: Decoding): SpanEvent {
  return {
    name: text(value, "name", decoding),
    time_us: microseconds(value, "timeUnixNano", decoding),
    attributes: attributes(value, decoding),
    dropped_attributes_count: dropped(value),
  };
}

function link(value: Fields, decoding: Decoding): SpanLink {
  return {
    trace_id: optionalId(value, "traceId", decoding),
    span_id: optionalId(value, "spanId", decoding),
    trace_state: text(value, "traceState", decoding),
    attributes: attributes(value, decoding),
    dropped_attributes_count: dropped(value),
    flags: count(value, "flags"),
  };
}

function dropped(value: Fields): number {
  return count(value, "droppedAttributesCount");
}

function attributes(value: Fields, decoding: Decoding): Attributes {
  let shape = decoding.shapes.empty;
  const values: AttributeValue[] = [];
  for (const item of objects(value, "attributes", decoding)) {
    const key = item.key ?? "";
    if (typeof key !== "string") {
      decoding.unreadable("key is not a string");
      continue;
    }
    decoding.key = key;
    shape = shape.with(key);
    values.push(anyValue(item.value, 0, decoding));
  }
  return { shape, values };
}

/** Integers that JSON.parse would round become text, which every 64-bit field takes as well. */
function quoteLongIntegers(text: string): string {
  if (!/[:,[\s]-?\d{16}/.test(text)) return text;
  let result = "";
  let copied = 0;
  const token = /"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const from = match.index;
    if (match[0] === '"') {
      token.lastIndex = stringEnd(text, from);
      continue;
    }
    result += `${text.slice(copied, from)}"${match[0]}"`;
    copied = token.lastIndex;
  }
  return result + text.slice(copied);
}
