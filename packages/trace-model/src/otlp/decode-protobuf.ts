import { HeddleError } from "@heddle/errors";
import type { AttributeShape } from "./attribute-shape.js";
import type { Decoding } from "./decoding.js";
import { ProtobufReader } from "./protobuf-reader.js";
import { emptyResource, emptySpan, noAttributes } from "./traces.js";
import type {
  Attributes,
  ScannedResource,
  ScannedScope,
  ScannedTraces,
  Scope,
  Span,
  SpanEvent,
  SpanLink,
} from "./traces.js";
import { jsonNumber, maxValueNesting, textJson, tooDeep, valueJson } from "./value-json.js";
import type { AttributeValue } from "./value-json.js";

/* Field numbers are those of opentelemetry/proto/trace/v1/trace.proto and common/v1/common.proto. */

/** Counts the spans of an ExportTraceServiceRequest. Throws `invalid` unless at least its frame can be read. */
export function scanProtobufTraces(bytes: Uint8Array, decoding: Decoding): ScannedTraces {
  const { budget } = decoding;
  const reader = new ProtobufReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), decoding);
  const largest = { span: 0 };
  const resources: ScannedResource[] = [];
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) resources.push(resourceSpans(reader.message(), largest));
    else reader.skip();
  }
  return { resources, wellFormed: true, work: () => budget.work, largestSpan: largest.span };
}

function resourceSpans(reader: ProtobufReader, largest: { span: number }): ScannedResource {
  const { decoding } = reader;
  const result: ScannedResource = { ...emptyResource(decoding.shapes), scopes: [] };
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) resource(reader.message(), result);
    // 1000 is the name scopes had before 1.0.
    else if (field === 2 || field === 1000) result.scopes.push(scopeSpans(reader.message(), largest));
    else if (field === 3) result.schema_url = reader.string();
    else reader.skip();
  }
  result.unreadable = decoding.takeProblems();
  return result;
}

function resource(reader: ProtobufReader, result: ScannedResource): void {
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) attribute(reader, result.attributes);
    else if (field === 2) result.dropped_attributes_count = reader.int32();
    else reader.skip();
  }
}

function scopeSpans(reader: ProtobufReader, largest: { span: number }): ScannedScope {
  const { decoding } = reader;
  const result: ScannedScope = { name: "", version: "", spans: [] };
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) scope(reader.message(), result);
    else if (field === 2) {
      decoding.budget.countSpans(1);
      const message = reader.message();
      largest.span = Math.max(largest.span, message.length);
      result.spans.push(() => {
        decoding.startSpan();
        return span(message);
      });
    } else if (field === 3) result.schema_url = reader.string();
    else reader.skip();
  }
  return result;
}

function scope(reader: ProtobufReader, result: Scope): void {
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) result.name = reader.string();
    else if (field === 2) result.version = reader.string();
    else if (field === 3) attribute(reader, (result.attributes ??= noAttributes(reader.decoding.shapes)));
    else reader.skip();
  }
}

function span(reader: ProtobufReader): Span {
  const { decoding } = reader;
  const result = emptySpan(decoding.shapes);
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) result.trace_id = reader.hex();
    else if (field === 2) result.span_id = reader.hex();
    else if (field === 3) result.trace_state = reader.string();
    else if (field === 4) result.parent_span_id = reader.hex();
    else if (field === 5) result.name = reader.string();
    else if (field === 6) result.kind = reader.int32();
    else if (field === 7) result.start_us = reader.microseconds();
    else if (field === 8) result.end_us = reader.microseconds();
    else if (field === 9) attribute(reader, result.attributes);
    else if (field === 10) result.dropped_attributes_count = reader.int32();
    else if (field === 11) result.events.push(part("event", reader, emptyEvent(decoding), event));
    else if (field === 12) result.dropped_events_count = reader.int32();
    else if (field === 13) result.links.push(part("link", reader, emptyLink(decoding), link));
    else if (field === 14) result.dropped_links_count = reader.int32();
    else if (field === 15) part("status", reader, result.status, status);
    else reader.skip();
  }
  result.unreadable = decoding.takeProblems();
  return result;
}

/** A message of which what cannot be read is left out. */
function part<T>(name: string, reader: ProtobufReader, result: T, read: (from: ProtobufReader, result: T) => void): T {
  const message = reader.message();
  try {
    read(message, result);
  } catch (error) {
    reader.decoding.failed(error, `${name}: `);
  }
  return result;
}

function emptyEvent({ shapes }: Decoding): SpanEvent {
  return { name: "", time_us: 0n, attributes: noAttributes(shapes), dropped_attributes_count: 0 };
}

function event(reader: ProtobufReader, result: SpanEvent): void {
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) result.time_us = reader.microseconds();
    else if (field === 2) result.name = reader.string();
    else if (field === 3) attribute(reader, result.attributes);
    else if (field === 4) result.dropped_attributes_count = reader.int32();
    else reader.skip();
  }
}

function emptyLink({ shapes }: Decoding): SpanLink {
  return {
    trace_id: "",
    span_id: "",
    trace_state: "",
    attributes: noAttributes(shapes),
    dropped_attributes_count: 0,
    flags: 0,
  };
}

function link(reader: ProtobufReader, result: SpanLink): void {
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) result.trace_id = reader.hex();
    else if (field === 2) result.span_id = reader.hex();
    else if (field === 3) result.trace_state = reader.string();
    else if (field === 4) attribute(reader, result.attributes);
    else if (field === 5) result.dropped_attributes_count = reader.int32();
    else if (field === 6) result.flags = reader.fixed32();
    else reader.skip();
  }
}

function status(reader: ProtobufReader, result: Span["status"]): void {
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 2) result.message = reader.string();
    else if (field === 3) result.code = reader.int32();
    else reader.skip();
  }
}

const nothing: AttributeValue = { json: "null" };

function attribute(reader: ProtobufReader, attributes: Attributes): void {
  const outer = reader.enter();
  const { end, decoding } = reader;
  const { shape, values } = attributes;
  decoding.key = "";
  let next: AttributeShape | undefined;
  let value = nothing;
  try {
    for (let field = reader.next(); field; field = reader.next()) {
      if (field === 1) {
        next = shapeWithKey(shape, reader);
        decoding.key = next.key;
      } else if (field === 2) value = anyValue(reader, 0);
      else reader.skip();
    }
  } catch (error) {
    decoding.valueFailed(error);
    value = nothing;
  }
  reader.abandon(end, outer);
  attributes.shape = next ?? shape.with("");
  values.push(value);
}

/** The text of a key is made only when it is not the one that followed before. */
function shapeWithKey(shape: AttributeShape, reader: ProtobufReader): AttributeShape {
  const { likely } = shape;
  return likely !== undefined && reader.skipText(likely.keyBytes) ? likely : shape.with(reader.string());
}

function anyValue(reader: ProtobufReader, depth: number): AttributeValue {
  const { decoding } = reader;
  if (depth > maxValueNesting) {
    decoding.valueFailed(new HeddleError("invalid", tooDeep));
    reader.skip();
    return nothing;
  }
  const outer = reader.enter();
  let result = nothing;
  let unknown = 0;
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) result = reader.string();
    else if (field === 2) result = { json: reader.int32() === 0 ? "false" : "true" };
    else if (field === 3) result = { json: reader.int64() };
    else if (field === 4) result = { json: jsonNumber(reader.double()) };
    else if (field === 5) result = { json: list(reader, depth + 1) };
    else if (field === 6) result = { json: map(reader, depth + 1) };
    else if (field === 7) result = reader.base64();
    else {
      reader.skip();
      unknown = field;
    }
  }
  reader.leave(outer);
  if (unknown > 0 && result === nothing) {
    decoding.valueFailed(new HeddleError("invalid", `field ${unknown} is not a kind of value`));
  }
  return result;
}

function list(reader: ProtobufReader, depth: number): string {
  const outer = reader.enter();
  const items: string[] = [];
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) items.push(valueJson(anyValue(reader, depth)));
    else reader.skip();
  }
  reader.leave(outer);
  return `[${items.join(",")}]`;
}

function map(reader: ProtobufReader, depth: number): string {
  const outer = reader.enter();
  const members: string[] = [];
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) members.push(member(reader, depth));
    else reader.skip();
  }
  reader.leave(outer);
  return `{${members.join(",")}}`;
}

function member(reader: ProtobufReader, depth: number): string {
  const outer = reader.enter();
  let key = "";
  let value = nothing;
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) key = reader.string();
    else if (field === 2) value = anyValue(reader, depth);
    else reader.skip();
  }
  reader.leave(outer);
  return `${textJson(key)}:${valueJson(value)}`;
}
