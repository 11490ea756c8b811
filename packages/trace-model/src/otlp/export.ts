import { HeddleError } from "@heddle/errors";
import { firstCharacters } from "@heddle/exact-json";
import { AttributeShapes } from "./attribute-shape.js";
import { scanJsonTraces } from "./decode-json.js";
import { scanProtobufTraces } from "./decode-protobuf.js";
import { Decoding } from "./decoding.js";
import { protobufField } from "./protobuf-writer.js";
import { attempt, maxMessages } from "./rejection.js";
import type { Steps } from "../steps.js";
import type { RejectedSpan, ResourceSpans, ScannedTraces, Traces } from "./traces.js";
import { defaultExportLimits, WorkBudget } from "./work-budget.js";
import type { ExportLimits } from "./work-budget.js";

const maxMessageLength = 500;

/**
 * Reads the resources of an OTLP export request and counts its spans, which are decoded by {@link decodeTraces}. Throws
 * `too_large` when there are more than the limit, `invalid` when the body as a whole cannot be read. `shapes` are those of
 * earlier exports of the same sender: what follows from the keys of attributes is not computed again.
 */
export function scanTraces(
  bytes: Uint8Array,
  mediaType: string,
  limits: ExportLimits = defaultExportLimits,
  shapes: AttributeShapes = new AttributeShapes(),
): ScannedTraces {
  const decoding = new Decoding(new WorkBudget(limits), shapes);
  return encodingOf(mediaType) === "json" ? scanJsonTraces(bytes, decoding) : scanProtobufTraces(bytes, decoding);
}

/** Decodes the spans, one in each step; those that cannot be decoded are rejected. Throws `too_large`. */
export function* decodeTraces({ resources, wellFormed }: ScannedTraces): Steps<Traces> {
  const traces: Traces = { resources: [], rejected: [], ...(wellFormed && { wellFormed }) };
  for (const resource of resources) {
    const decoded: ResourceSpans = { ...resource, scopes: [] };
    traces.resources.push(decoded);
    for (const origin of resource.scopes) {
      const scope: ResourceSpans["scopes"][number] = { ...origin, spans: [] };
      decoded.scopes.push(scope);
      for (const decode of origin.spans) {
        const span = attempt(decode, traces.rejected);
        if (span !== undefined) scope.spans.push(span);
        yield;
      }
    }
  }
  return traces;
}

/**
 * The response to an export in the encoding of the request; empty when every span was accepted whole. A partial success
 * that rejects no span names parts of spans that are not stored.
 */
export function encodeTracesResponse(
  rejected: readonly RejectedSpan[],
  mediaType: string,
): { bytes: Uint8Array; mediaType: string } {
  const count = rejected.reduce((sum, { spans = 1 }) => sum + spans, 0);
  const json = encodingOf(mediaType) === "json";
  const partial = rejected.length > 0;
  const errorMessage = [...rejected.filter(({ spans }) => spans !== 0), ...rejected.filter(({ spans }) => spans === 0)]
    .slice(0, maxMessages)
    .map(({ message }) => firstCharacters(message, maxMessageLength))
    .join("; ");
  if (json) {
    const response = partial ? { partialSuccess: { rejectedSpans: count, errorMessage } } : {};
    return { bytes: Buffer.from(JSON.stringify(response)), mediaType: "application/json" };
  }
  const fields = Buffer.concat([protobufField(1, count), protobufField(2, Buffer.from(errorMessage))]);
  const bytes = partial ? protobufField(1, fields) : Buffer.alloc(0);
  return { bytes, mediaType: "application/x-protobuf" };
}

function encodingOf(mediaType: string): "json" | "protobuf" {
  const type = mediaType.split(";", 1)[0]?.trim().toLowerCase();
  if (type === "application/json") return "json";
  if (type === "application/x-protobuf" || type === "application/protobuf") return "protobuf";
  throw new HeddleError(
    "invalid",
    `OpenTelemetry traces are application/x-protobuf or application/json, not ${mediaType}`,
  );
}
