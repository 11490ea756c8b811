import { HeddleError } from "@heddle/errors";
import { stringEnd } from "../json/scan.js";
import { fromNanoseconds } from "../time.js";
import { emptySpan, noAttributes, spanKinds, statusCodes } from "./traces.js";
import type { Attributes, ScannedResource, ScannedTraces, Span } from "./traces.js";
import type { AttributeValue } from "./value-json.js";
import type { WorkBudget } from "./work-budget.js";
import { jsonNumber, maxValueNesting, textJson, valueJson } from "./value-json.js";

type Fields = Record<string, unknown>;

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
  const resources = list(fields(request), "resourceSpans").map((item) => resourceSpans(fields(item), budget));
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

function resourceSpans(value: Fields, budget: WorkBudget): ScannedResource {
  const resource = fields(pick(value, "resource") ?? {});
  return {
    attributes: attributes(resource),
    dropped_attributes_count: count(resource, "droppedAttributesCount"),
    scopes: list(value, "scopeSpans").map((item) => {
      const scopeSpans = fields(item);
      const scope = fields(pick(scopeSpans, "scope") ?? {});
      const spans = list(scopeSpans, "spans");
      budget.countSpans(spans.length);
      return {
        name: string(scope, "name"),
        version: string(scope, "version"),
        spans: spans.map((item) => () => {
          budget.startSpan();
          return span(fields(item), budget);
        }),
      };
    }),
  };
}

function span(value: Fields, budget: WorkBudget): Span {
  const status = fields(pick(value, "status") ?? {});
  const [events, links] = [list(value, "events"), list(value, "links")];
  budget.spend(10 * (events.length + links.length));
  return {
    ...emptySpan(),
    trace_id: hexId(value, "traceId"),
    span_id: hexId(value, "spanId"),
    parent_span_id: hexId(value, "parentSpanId"),
    trace_state: string(value, "traceState"),
    name: string(value, "name"),
    kind: enumeration(pick(value, "kind"), "SPAN_KIND_", spanKinds),
    start_us: microseconds(value, "startTimeUnixNano"),
    end_us: microseconds(value, "endTimeUnixNano"),
    attributes: attributes(value),
    events: events.map((item) => {
      const event = fields(item);
      return {
        name: string(event, "name"),
        time_us: microseconds(event, "timeUnixNano"),
        attributes: attributes(event),
        dropped_attributes_count: count(event, "droppedAttributesCount"),
      };
    }),
    links: links.map((item) => {
      const link = fields(item);
      return {
        trace_id: hexId(link, "traceId"),
        span_id: hexId(link, "spanId"),
        trace_state: string(link, "traceState"),
        attributes: attributes(link),
        dropped_attributes_count: count(link, "droppedAttributesCount"),
        flags: count(link, "flags"),
      };
    }),
    status: {
      code: enumeration(pick(status, "code"), "STATUS_CODE_", statusCodes),
      message: string(status, "message"),
    },
  };
}

function attributes(value: Fields): Attributes {
  const result = noAttributes();
  for (const item of list(value, "attributes")) {
    const attribute = keyValue(fields(item), 0);
    result.shape = result.shape.with(attribute.key);
    result.values.push(attribute.value);
  }
  return result;
}

function keyValue(value: Fields, depth: number): { key: string; value: AttributeValue } {
  return { key: string(value, "key"), value: anyValue(fields(pick(value, "value") ?? {}), depth) };
}

function anyValue(value: Fields, depth: number): AttributeValue {
  if (depth > maxValueNesting) throw new HeddleError("invalid", "an attribute value is nested too deep");
  const [name = ""] = Object.keys(value);
  const content: unknown = value[name] ?? null;
  switch (content === null ? "" : camelCase(name)) {
    case "stringValue":
    case "bytesValue":
      return String(content);
    case "boolValue":
      return { json: content === true || content === "true" ? "true" : "false" };
    case "intValue":
      return { json: integer(content, name).toString() };
    case "doubleValue":
      return { json: jsonNumber(Number(content)) };
    case "arrayValue": {
      const items = list(fields(content), "values").map((item) => anyValue(fields(item ?? {}), depth + 1));
      return { json: `[${items.map(valueJson).join(",")}]` };
    }
    case "kvlistValue": {
      const members = list(fields(content), "values").map((item) => keyValue(fields(item), depth + 1));
      const texts = members.map(({ key, value }) => `${textJson(key)}:${valueJson(value)}`);
      return { json: `{${texts.join(",")}}` };
    }
    default:
      return { json: "null" };
  }
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

function fields(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new HeddleError("invalid", "expected an object");
  }
  return value as Fields;
}

/** The member under its camelCase name, else under its snake_case name. */
function pick(value: Fields, name: string): unknown {
  return value[name] ?? value[snakeCase(name)];
}

function snakeCase(name: string): string {
  let result = snakeNames.get(name);
  if (result === undefined) {
    result = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakeNames.set(name, result);
  }
  return result;
}

/** Most fields of a span are absent, so that both names of them are asked for. */
const snakeNames = new Map<string, string>();

function camelCase(name: string): string {
  return name.includes("_") ? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : name;
}

function list(value: Fields, name: string): unknown[] {
  const content = pick(value, name) ?? [];
  if (!Array.isArray(content)) throw new HeddleError("invalid", `${name} is no list`);
  return content;
}

function string(value: Fields, name: string): string {
  const content = pick(value, name) ?? "";
  if (typeof content !== "string") throw new HeddleError("invalid", `${name} is no text`);
  return content;
}

function hexId(value: Fields, name: string): string {
  const id = string(value, name).toLowerCase();
  if (!/^[0-9a-f]*$/.test(id)) throw new HeddleError("invalid", `${name} is not written in hex digits`);
  return id;
}

function count(value: Fields, name: string): number {
  return Number(pick(value, name)) || 0;
}

function microseconds(value: Fields, name: string): bigint {
  return fromNanoseconds(integer(pick(value, name) ?? 0, name));
}

function integer(value: unknown, name: string): bigint {
  if (typeof value === "number" && Number.isInteger(value)) return BigInt(value);
  if (typeof value === "string" && /^-?\d{1,20}$/.test(value)) return BigInt(value);
  throw new HeddleError("invalid", `${name} is not an integer`);
}

function enumeration(value: unknown, prefix: string, names: readonly string[]): number {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return 0;
  return Math.max(names.indexOf(value.replace(prefix, "")), 0);
}
