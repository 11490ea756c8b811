import { InvalidInput } from "../invalid-input.js";
import { ProtobufReader } from "./protobuf-reader.js";
import { attempt } from "./rejection.js";
import {
  type Attribute,
  type AttributeValue,
  emptyResource,
  emptySpan,
  maxValueNesting,
  type RejectedSpan,
  type ResourceSpans,
  type Span,
  type SpanEvent,
  type SpanLink,
  type Traces,
} from "./traces.js";
import { jsonNumber, valueJson } from "./value-json.js";

/* Field numbers are those of opentelemetry/proto/trace/v1/trace.proto and common/v1/common.proto. */

/** Decodes an ExportTraceServiceRequest. Throws InvalidInput unless at least its frame can be read. */
export function decodeProtobufTraces(bytes: Uint8Array): Traces {
  const reader = new ProtobufReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const traces: Traces = { resources: [], rejected: [] };
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) traces.resources.push(resourceSpans(reader.message(), traces.rejected));
    else reader.skip();
  }
  return traces;
}

function resourceSpans(reader: ProtobufReader, rejected: RejectedSpan[]): ResourceSpans {
  const result = emptyResource();
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) resource(reader.message(), result);
    // 1000 is the name scopes had before 1.0.
    else if (field === 2 || field === 1000) result.scopes.push(scopeSpans(reader.message(), rejected));
    else reader.skip();
  }
  return result;
}

function resource(reader: ProtobufReader, result: ResourceSpans): void {
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) result.attributes.push(keyValue(reader.message(), 0));
    else if (field === 2) result.dropped_attributes_count = reader.int32();
    else reader.skip();
  }
}

function scopeSpans(reader: ProtobufReader, rejected: RejectedSpan[]): ResourceSpans["scopes"][number] {
  const result: ResourceSpans["scopes"][number] = { name: "", version: "", spans: [] };
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) scope(reader.message(), result);
    else if (field === 2) {
      const message = reader.message();
      const decoded = attempt(() => span(message), rejected);
      if (decoded) result.spans.push(decoded);
    } else reader.skip();
  }
  return result;
}

function scope(reader: ProtobufReader, result: { name: string; version: string }): void {
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) result.name = reader.string();
    else if (field === 2) result.version = reader.string();
    else reader.skip();
  }
}

function span(reader: ProtobufReader): Span {
  const result = emptySpan();
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) result.trace_id = reader.hex();
    else if (field === 2) result.span_id = reader.hex();
    else if (field === 3) result.trace_state = reader.string();
    else if (field === 4) result.parent_span_id = reader.hex();
    else if (field === 5) result.name = reader.string();
    else if (field === 6) result.kind = reader.int32();
    else if (field === 7) result.start_ns = reader.fixed64();
    else if (field === 8) result.end_ns = reader.fixed64();
    else if (field === 9) result.attributes.push(keyValue(reader.message(), 0));
    else if (field === 11) result.events.push(event(reader.message()));
    else if (field === 13) result.links.push(link(reader.message()));
    else if (field === 15) status(reader.message(), result.status);
    else reader.skip();
  }
  return result;
}

function event(reader: ProtobufReader): SpanEvent {
  const result: SpanEvent = { name: "", time_ns: 0n, attributes: [], dropped_attributes_count: 0 };
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) result.time_ns = reader.fixed64();
    else if (field === 2) result.name = reader.string();
    else if (field === 3) result.attributes.push(keyValue(reader.message(), 0));
    else if (field === 4) result.dropped_attributes_count = reader.int32();
    else reader.skip();
  }
  return result;
}

function link(reader: ProtobufReader): SpanLink {
  const result: SpanLink = {
    trace_id: "",
    span_id: "",
    trace_state: "",
    attributes: [],
    dropped_attributes_count: 0,
    flags: 0,
  };
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) result.trace_id = reader.hex();
    else if (field === 2) result.span_id = reader.hex();
    else if (field === 3) result.trace_state = reader.string();
    else if (field === 4) result.attributes.push(keyValue(reader.message(), 0));
    else if (field === 5) result.dropped_attributes_count = reader.int32();
    else if (field === 6) result.flags = reader.fixed32();
    else reader.skip();
  }
  return result;
}

function status(reader: ProtobufReader, result: Span["status"]): void {
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 2) result.message = reader.string();
    else if (field === 3) result.code = reader.int32();
    else reader.skip();
  }
}

function keyValue(reader: ProtobufReader, depth: number): Attribute {
  const result: Attribute = { key: "", value: { json: "null" } };
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) result.key = reader.string();
    else if (field === 2) result.value = anyValue(reader.message(), depth);
    else reader.skip();
  }
  return result;
}

function anyValue(reader: ProtobufReader, depth: number): AttributeValue {
  if (depth > maxValueNesting) throw new InvalidInput("an attribute value is nested too deep");
  let result: AttributeValue = { json: "null" };
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) result = reader.string();
    else if (field === 2) result = { json: reader.int32() === 0 ? "false" : "true" };
    else if (field === 3) result = { json: reader.int64() };
    else if (field === 4) result = { json: jsonNumber(reader.double()) };
    else if (field === 5) result = { json: list(reader.message(), depth + 1) };
    else if (field === 6) result = { json: map(reader.message(), depth + 1) };
    else if (field === 7) result = reader.base64();
    else reader.skip();
  }
  return result;
}

function list(reader: ProtobufReader, depth: number): string {
  const items: string[] = [];
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) items.push(valueJson(anyValue(reader.message(), depth)));
    else reader.skip();
  }
  return `[${items.join(",")}]`;
}

function map(reader: ProtobufReader, depth: number): string {
  const members: string[] = [];
  for (let field = reader.next(); field; field = reader.next()) {
    if (field === 1) {
      const { key, value } = keyValue(reader.message(), depth);
      members.push(`${JSON.stringify(key)}:${valueJson(value)}`);
    } else reader.skip();
  }
  return `{${members.join(",")}}`;
}
