import { readSlots } from "@heddle/trace-store";

/** What one key, or one request, may use of the service. */
export interface Limits {
  /** Most bytes of a response that is not streamed. */
  maxResponseBytes: number;
  /** Bytes that all requests together may hold of what they have read and not yet sent, or not yet stored. */
  workingMemoryBytes: number;
  /** How long a client may take nothing of a response, in milliseconds. */
  responseStallMs: number;
  /** Reads of one key, and of all keys of one entity, at once. */
  readsPerKey: number;
  readsPerEntity: number;
  /** Most spans of one OpenTelemetry export. */
  maxExportSpans: number;
}

export const defaultLimits: Readonly<Limits> = {
  maxResponseBytes: 64e6,
  workingMemoryBytes: 128e6,
  responseStallMs: 30_000,
  readsPerKey: readSlots / 2,
  readsPerEntity: (readSlots * 3) / 4,
  maxExportSpans: 20_000,
};
