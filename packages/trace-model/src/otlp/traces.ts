import type { JsonText } from "../json/scan.js";

/** Text stays text, as it may hold JSON of its own; every other value is kept as JSON text, exact to the digit. */
export type AttributeValue = string | { json: JsonText };

export interface Attribute {
  key: string;
  value: AttributeValue;
}

export interface SpanEvent {
  name: string;
  time_ns: bigint;
  attributes: Attribute[];
  dropped_attributes_count: number;
}

export interface SpanLink {
  trace_id: string;
  span_id: string;
  trace_state: string;
  attributes: Attribute[];
  dropped_attributes_count: number;
  flags: number;
}

/** Ids are lowercase hex; times are nanoseconds since 1970. */
export interface Span {
  trace_id: string;
  span_id: string;
  /** "" for a root. */
  parent_span_id: string;
  trace_state: string;
  name: string;
  kind: number;
  start_ns: bigint;
  end_ns: bigint;
  attributes: Attribute[];
  events: SpanEvent[];
  links: SpanLink[];
  status: { code: number; message: string };
}

export interface ResourceSpans {
  attributes: Attribute[];
  dropped_attributes_count: number;
  scopes: Array<{ name: string; version: string; spans: Span[] }>;
}

/** A span that cannot be stored; the message says which and why. */
export interface RejectedSpan {
  message: string;
}

/** One export request. */
export interface Traces {
  resources: ResourceSpans[];
  rejected: RejectedSpan[];
}

/** Names by number. */
export const spanKinds = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
export const statusCodes = ["UNSET", "OK", "ERROR"];

/** Values of values of values…: what a request may nest before a span is refused. */
export const maxValueNesting = 64;

export function emptySpan(): Span {
  return {
    trace_id: "",
    span_id: "",
    parent_span_id: "",
    trace_state: "",
    name: "",
    kind: 0,
    start_ns: 0n,
    end_ns: 0n,
    attributes: [],
    events: [],
    links: [],
    status: { code: 0, message: "" },
  };
}

export function emptyResource(): ResourceSpans {
  return { attributes: [], dropped_attributes_count: 0, scopes: [] };
}
