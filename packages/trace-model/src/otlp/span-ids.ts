import { HeddleError } from "@heddle/errors";
import type { Span } from "./traces.js";

const noTraceId = "0".repeat(32);
const noSpanId = "0".repeat(16);

/** Throws `invalid` unless the trace and the span itself can be told apart from others. */
export function checkIds({ name, trace_id, span_id }: Span): void {
  if (trace_id.length !== 32 || trace_id === noTraceId) {
    throw new HeddleError("invalid", `span ${name}: the trace id must be 16 bytes, not all zero`);
  }
  if (span_id.length !== 16 || span_id === noSpanId) {
    throw new HeddleError("invalid", `span ${name}: the span id must be 8 bytes, not all zero`);
  }
}

/** Some senders write zeros as the parent of a root. */
export function parentOf({ parent_span_id }: Span): { parentId?: string; problem?: string } {
  if (parent_span_id === "" || parent_span_id === noSpanId) return {};
  if (parent_span_id.length !== 16) return { problem: "the parent span id must be 8 bytes" };
  return { parentId: parent_span_id };
}
