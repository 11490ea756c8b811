import { HeddleError } from "@heddle/errors";
import { decodeJsonTraces } from "./decode-json.js";
import { decodeProtobufTraces } from "./decode-protobuf.js";
import type { RejectedSpan, Traces } from "./traces.js";

const maxMessages = 20;

/** Decodes an OTLP export request. Throws `invalid` when the body as a whole cannot be read. */
export function decodeTraces(bytes: Uint8Array, mediaType: string): Traces {
  return encodingOf(mediaType) === "json" ? decodeJsonTraces(bytes) : decodeProtobufTraces(bytes);
}

/** The response to an export in the encoding of the request; empty when every span was accepted. */
export function encodeTracesResponse(
  rejected: readonly RejectedSpan[],
  mediaType: string,
): { bytes: Uint8Array; mediaType: string } {
  const json = encodingOf(mediaType) === "json";
  const errorMessage = rejected
    .slice(0, maxMessages)
    .map(({ message }) => message)
    .join("; ");
  if (json) {
    const response = rejected.length > 0 ? { partialSuccess: { rejectedSpans: rejected.length, errorMessage } } : {};
    return { bytes: Buffer.from(JSON.stringify(response)), mediaType: "application/json" };
  }
  const text = Buffer.from(errorMessage);
  const partial = Buffer.concat([Buffer.from([0x08, ...varint(rejected.length), 0x12, ...varint(text.length)]), text]);
  const bytes = Buffer.concat([Buffer.from([0x0a, ...varint(partial.length)]), partial]);
  return { bytes: rejected.length > 0 ? bytes : Buffer.alloc(0), mediaType: "application/x-protobuf" };
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

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
