import { AttributeShapes } from "./attribute-shape.js";
import type { AttributeShape } from "./attribute-shape.js";
import type { AttributeValue } from "./value-json.js";

/** In the order they were sent: each key of the shape has its value. */
export interface Attributes {
  shape: AttributeShape;
  values: AttributeValue[];
}

export interface SpanEvent {
  name: string;
  time_us: bigint;
  attributes: Attributes;
  dropped_attributes_count: number;
}

export interface SpanLink {
  trace_id: string;
  span_id: string;
  trace_state: string;
  attributes: Attributes;
  dropped_attributes_count: number;
  flags: number;
}

/** Ids are lowercase hex; times are microseconds since 1970, 0 when there is none. */
export interface Span {
  trace_id: string;
  span_id: string;
  /** "" for a root. */
  parent_span_id: string;
  trace_state: string;
  name: string;
  kind: number;
  start_us: bigint;
  end_us: bigint;
  attributes: Attributes;
  dropped_attributes_count?: number;
  events: SpanEvent[];
  dropped_events_count?: number;
  links: SpanLink[];
  dropped_links_count?: number;
  status: { code: number; message: string };
  /** What of it could not be read, and why. */
  unreadable?: string[] | undefined;
}

/** The instrumentation that made spans. */
export interface Scope {
  name: string;
  version: string;
  attributes?: Attributes;
  schema_url?: string;
}

export interface ResourceSpans {
  attributes: Attributes;
  dropped_attributes_count: number;
  schema_url?: string;
  scopes: Array<Scope & { spans: Span[] }>;
  /** As of {@link Span}. */
  unreadable?: string[] | undefined;
}

/** A span that cannot be stored, or several; the message says which and why. */
export interface RejectedSpan {
  message: string;
  /** How many; default 1. 0 where only a part of a span is not stored. */
  spans?: number;
}

/** Spans that were counted, and not decoded yet. */
export interface ScannedScope extends Scope {
  /** Each returns one span, or throws `invalid`. */
  spans: Array<() => Span>;
}

/** What is known of a resource before its spans are decoded. */
export interface ScannedResource extends Omit<ResourceSpans, "scopes"> {
  scopes: ScannedScope[];
}

/** One export request whose spans are not decoded yet. */
export interface ScannedTraces {
  resources: ScannedResource[];
  /** As of {@link Traces}. */
  wellFormed?: true;
  /** Units of work so far; they grow with the memory that the export takes. */
  work: () => number;
  /** Bytes of the largest span, where they are known before it is decoded. */
  largestSpan?: number;
}

/** One export request. */
export interface Traces {
  resources: ResourceSpans[];
  rejected: RejectedSpan[];
  /** No text holds a lone surrogate; absent when that is not known. */
  wellFormed?: true;
}

/** Names by number. */
export const spanKinds = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
export const statusCodes = ["UNSET", "OK", "ERROR"];

export function noAttributes(shapes = new AttributeShapes()): Attributes {
  return { shape: shapes.empty, values: [] };
}

export function emptySpan(shapes?: AttributeShapes): Span {
  return {
    trace_id: "",
    span_id: "",
    parent_span_id: "",
    trace_state: "",
    name: "",
    kind: 0,
    start_us: 0n,
    end_us: 0n,
    attributes: noAttributes(shapes),
    events: [],
    links: [],
    status: { code: 0, message: "" },
  };
}

export function emptyResource(shapes?: AttributeShapes): ResourceSpans {
  return { attributes: noAttributes(shapes), dropped_attributes_count: 0, scopes: [] };
}
