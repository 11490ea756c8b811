import { withMembers } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/** The attributes of a call made from an OpenTelemetry span: the whole span is under `otel_span`. */
export function withOtelSpan(attributes: JsonText, otelDump: JsonText): JsonText {
  return withMembers(attributes, { otel_span: otelDump });
}
