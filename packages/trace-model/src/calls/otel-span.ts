import { withMembers } from "../json/edit.js";
import type { JsonText } from "../json/scan.js";

/** The attributes of a call made from an OpenTelemetry span: the whole span is under `otel_span`. */
export function withOtelSpan(attributes: JsonText, otelDump: JsonText): JsonText {
  return withMembers(attributes, { otel_span: otelDump });
}
