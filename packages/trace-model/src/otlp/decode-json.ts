import { HeddleError } from "@heddle/errors";
import { stringEnd } from "../json/scan.js";
import { Decoding } from "./decoding.js";
import {
  count,
  enumeration,
  fields,
  hexId,
  isFields,
  lenient,
  list,
  microseconds,
  object,
  text,
} from "./json-fields.js";
import type { Fields } from "./json-fields.js";
import { anyValue } from "./json-value.js";
import { emptySpan, noAttributes, spanKinds, statusCodes } from "./traces.js";
import type { Attributes, ScannedResource, ScannedScope, ScannedTraces, Span, SpanEvent, SpanLink } from "./traces.js";
import type { WorkBudget } from "./work-budget.js";

/**
 * Counts the spans of the JSON form of an ExportTraceServiceRequest: hex ids, 64-bit numbers as text or digits, enums by
 * number or name, keys in camelCase or snake_case. Throws `invalid` when it is no such document.
 */
export function scanJsonTraces(bytes: Uint8Array, budget: WorkBudget): ScannedTraces {
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
  const decoding = new Decoding(budget);
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
  const resource = lenient(object, value, "resource", decoding) ?? {};
  const result = { attributes: attributes(resource, decoding), dropped_attributes_count: dropped(resource) };
  const scopes = list(value, "scopeSpans").map((item) => scopeSpans(fields(item), decoding));
  return { ...result, scopes, unreadable: decoding.takeProblems() };
}

function scopeSpans(value: Fields, decoding: Decoding): ScannedScope {
  const scope = lenient(object, value, "scope", decoding) ?? {};
  const scopeAttributes = attributes(scope, decoding);
  const spans = list(value, "spans");
  decoding.budget.countSpans(spans.length);
  return {
    name: lenient(text, scope, "name", decoding) ?? "",
    version: lenient(text, scope, "version", decoding) ?? "",
    ...(scopeAttributes.values.length > 0 && { attributes: scopeAttributes }),
    spans: spans.map((item) => () => {
      decoding.startSpan();
      return span(fields(item), decoding);
    }),
  };
}

function span(value: Fields, decoding: Decoding): Span {
  const status = lenient(object, value, "status", decoding) ?? {};
  const [events, links] = [parts(value, "events", decoding), parts(value, "links", decoding)];
  decoding.budget.spend(10 * (events.length + links.length));
  return {
    ...emptySpan(decoding.shapes),
    trace_id: hexId(value, "traceId"),
    span_id: hexId(value, "spanId"),
    parent_span_id: lenient(hexId, value, "parentSpanId", decoding) ?? "",
    trace_state: lenient(text, value, "traceState", decoding) ?? "",
    name: lenient(text, value, "name", decoding) ?? "",
    kind: enumeration(value, "kind", "SPAN_KIND_", spanKinds, decoding),
    start_us: lenient(microseconds, value, "startTimeUnixNano", decoding) ?? 0n,
    end_us: lenient(microseconds, value, "endTimeUnixNano", decoding) ?? 0n,
    attributes: attributes(value, decoding),
    events: events.map((item) => event(item, decoding)),
    links: links.map((item) => link(item, decoding)),
    status: {
      code: enumeration(status, "code", "STATUS_CODE_", statusCodes, decoding),
      message: lenient(text, status, "message", decoding) ?? "",
    },
    unreadable: decoding.takeProblems(),
  };
}

function event(value: Fields, decoding: Decoding): SpanEvent {
  return {
    name: lenient(text, value, "name", decoding) ?? "",
    time_us: lenient(microseconds, value, "timeUnixNano", decoding) ?? 0n,
    attributes: attributes(value, decoding),
    dropped_attributes_count: dropped(value),
  };
}

function link(value: Fields, decoding: Decoding): SpanLink {
  return {
    trace_id: lenient(hexId, value, "traceId", decoding) ?? "",
    span_id: lenient(hexId, value, "spanId", decoding) ?? "",
    trace_state: lenient(text, value, "traceState", decoding) ?? "",
    attributes: attributes(value, decoding),
    dropped_attributes_count: dropped(value),
    flags: count(value, "flags"),
  };
}

function dropped(value: Fields): number {
  return count(value, "droppedAttributesCount");
}

function attributes(value: Fields, decoding: Decoding): Attributes {
  const result = noAttributes(decoding.shapes);
  for (const item of parts(value, "attributes", decoding)) {
    const key = lenient(text, item, "key", decoding);
    if (key === undefined) continue;
    result.shape = result.shape.with(key);
    decoding.key = key;
    result.values.push(anyValue(item.value, 0, decoding));
  }
  return result;
}

/** The objects of a list; others are left out. */
function parts(value: Fields, name: string, decoding: Decoding): Fields[] {
  const items = lenient(list, value, name, decoding) ?? [];
  if (items.every(isFields)) return items;
  decoding.unreadable(`${name} has items that are no objects`);
  return items.filter(isFields);
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
