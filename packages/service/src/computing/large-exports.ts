import { deserialize, serialize } from "node:v8";
import { mainThread } from "@heddle/concurrency";
import { decodeTraces, projectOf, runSteps, scanTraces, spansToCalls } from "@heddle/trace-model";
import type { RejectedSpan, ScannedTraces, SpanCall } from "@heddle/trace-model";

/** An export as it was sent, and how it is read. */
export interface SentExport {
  bytes: Uint8Array;
  mediaType: string;
  limits: { maxSpans: number; setting: string };
  /** The project of spans that name none. */
  fallback: string | undefined;
}

/** What is known of an export before its spans are decoded. */
export interface ExportContents {
  /** In the order of the export. */
  resources: ReadonlyArray<{ projectId: string | undefined; spans: number }>;
  /** Units of work; they grow with the memory that the export takes. */
  work: number;
}

/** How the spans of an export become calls. */
export interface ExportOptions {
  sessionThreads: boolean;
  received_us: bigint;
}

/** The calls of an export in pieces, each of which is read in a few milliseconds. */
export interface ExportedCalls {
  pieces: Uint8Array[];
  rejected: RejectedSpan[];
}

/** Bytes of JSON that are parsed at once, and of one span that is decoded at once, while others wait. */
const largeJson = 512 * 1024;
const largeSpan = 256 * 1024;

/** Whether the event loop would be kept too long by one step of reading the export: a thread reads it. */
export const isLargeJson = (bytes: Uint8Array, mediaType: string): boolean =>
  bytes.length > largeJson && /^\s*application\/json/i.test(mediaType);
export const hasLargeSpan = ({ largestSpan = 0 }: ScannedTraces): boolean => largestSpan > largeSpan;

export function contentsOf(traces: ScannedTraces, fallback: string | undefined): ExportContents {
  const resources = traces.resources.map((resource) => ({
    projectId: projectOf(resource, fallback),
    spans: resource.scopes.reduce((sum, { spans }) => sum + spans.length, 0),
  }));
  return { resources, work: traces.work() };
}

/** The first task of a thread for a large export: what it has, so that it is known which of it may be written. */
export function scanExport({ bytes, mediaType, limits, fallback }: SentExport): ExportContents {
  return contentsOf(scanTraces(bytes, mediaType, limits), fallback);
}

/** The second one: the calls that the spans of the `allowed` resources are, by the positions of these. */
export function exportedCalls({
  sent: { bytes, mediaType, limits, fallback },
  allowed,
  options,
}: {
  sent: SentExport;
  allowed: readonly number[];
  options: ExportOptions;
}): ExportedCalls {
  const traces = scanTraces(bytes, mediaType, limits);
  const resources = allowed.flatMap((position) => traces.resources[position] ?? []);
  const decoded = runSteps(decodeTraces({ ...traces, resources }));
  const { calls, rejected } = runSteps(spansToCalls(decoded, { project_id: fallback, ...options }));
  return { pieces: inPieces(calls), rejected };
}

const pieceCalls = 100;

function inPieces(calls: readonly SpanCall[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let from = 0; from < calls.length; from += pieceCalls) {
    pieces.push(new Uint8Array(serialize(calls.slice(from, from + pieceCalls))));
  }
  return pieces;
}

const sliceMs = 4;

/** Reads what the thread has sent in slices. */
export async function callsOfPieces(pieces: readonly Uint8Array[]): Promise<SpanCall[]> {
  const calls: SpanCall[] = [];
  let since = performance.now();
  for (const piece of pieces) {
    if (performance.now() - since > sliceMs) {
      await mainThread.giveWay();
      since = performance.now();
    }
    calls.push(...(deserialize(piece) as SpanCall[]));
  }
  return calls;
}
