import { chatThreadHeaps } from "@heddle/chat-format";
import { encodingThreadHeaps } from "@heddle/trace-store";
import { compressionBytes } from "../compression/compressing.js";
import { computingHeapBytes } from "../computing/computing.js";
import type { Config } from "../config/config.js";
import { mostGrpcCalls, mostGrpcConnections } from "../otlp/collector.js";
import { senderShapesBytes } from "../otlp/sender-shapes.js";
import { packingThreads } from "../training-jobs/packing-threads.js";
import { mostCallMemoryBytes } from "../limits/call-memory.js";
import { trainingDataBytes } from "../limits/training-data-limit.js";

/** Something of the service process that takes memory, and how much it may take. */
export interface MemoryPart {
  part: string;
  /** How the bound follows from the settings, for people. */
  bound: string;
  bytes: (config: Config) => number;
}

const mebibyte = 2 ** 20;
const mostConnections = 4096;

/**
 * The memory of the service process, part by part. A part in bytes of JSON counts several times: it is in memory as bytes,
 * as text and as values. A test writes the table of the guide "Operating the service" from it.
 */
export const memoryAccount: readonly MemoryPart[] = [
  {
    part: "the service itself: code, connections, pages of SQLite, garbage that is not collected yet",
    bound: "450 MB",
    bytes: () => 450e6,
  },
  {
    part: "the newest calls, whole",
    bound: "`HEDDLE_CALL_MEMORY`",
    bytes: ({ callMemoryBytes = mostCallMemoryBytes }) => callMemoryBytes,
  },
  {
    part: "bodies of requests that arrive, are inflated, parsed and worked on",
    bound: "3 × `HEDDLE_BODY_MEMORY`",
    bytes: ({ bodyMemoryBytes }) => 3 * bodyMemoryBytes,
  },
  {
    part: "bodies of less than 64 KiB, which do not count there",
    bound: "`HEDDLE_MAX_CONNECTIONS` (at most 4096) × 64 KiB",
    bytes: ({ maxConnections = mostConnections }) => maxConnections * 65_536,
  },
  {
    part: "connections over which OpenTelemetry comes as gRPC, and messages of less than 64 KiB on them",
    bound: "512 × 128 KiB and 512 × 64 KiB",
    bytes: () => mostGrpcConnections * 131_072 + mostGrpcCalls * 65_536,
  },
  {
    part: "what follows from the names of attributes of OpenTelemetry, for the keys that export most recently",
    bound: "16 × 2 MB",
    bytes: () => senderShapesBytes,
  },
  {
    part: "what requests have read and not yet sent, or received and not yet stored: responses, exports, pages of streams, trajectories, responses of model servers",
    bound: "4 × `HEDDLE_WORKING_MEMORY`",
    bytes: ({ limits }) => 4 * limits.workingMemoryBytes,
  },
  {
    part: "responses while they are compressed",
    bound: "256 × 512 KiB",
    bytes: () => compressionBytes,
  },
  {
    part: "calls that are open, with what they were started with, for the request that ends them",
    bound: "2 × 64 MiB",
    bytes: () => 128 * mebibyte,
  },
  {
    part: "completions that wait to be recorded as calls",
    bound: "2 × 64 MiB",
    bytes: () => 128 * mebibyte,
  },
  {
    part: "the data of training jobs that run, parsed",
    bound: "`HEDDLE_TRAINING_CONCURRENCY` × 2 × `HEDDLE_WORKING_MEMORY`",
    bytes: ({ limits, trainingConcurrency }) => trainingConcurrency * trainingDataBytes(limits),
  },
  {
    part: "responses of model servers to evaluations that run",
    bound: "`HEDDLE_JOB_CONCURRENCY` × `HEDDLE_EVALUATION_CONCURRENCY` × 8 MiB",
    bytes: ({ jobConcurrency, evaluationConcurrency }) => jobConcurrency * evaluationConcurrency * 8 * mebibyte,
  },
  {
    part: "threads that validate trajectories",
    bound: "their heaps",
    bytes: () => packingThreads.heapBytes ?? 0,
  },
  {
    part: "threads that compute scores, templates of evaluations and schema checks",
    bound: "their heaps; with less than five processors there are fewer threads",
    bytes: () => computingHeapBytes,
  },
  {
    part: "threads that encode large values for the trace engine",
    bound: "their heaps",
    bytes: () => encodingThreadHeaps(),
  },
  {
    part: "threads that render chat templates",
    bound: "their heaps",
    bytes: () => chatThreadHeaps().templates,
  },
  {
    part: "threads that tokenize, with the vocabularies",
    bound: "their heaps",
    bytes: () => chatThreadHeaps().texts,
  },
];

/** The most that the service process may take: a bound of the worst case, several times what usual work takes. */
export function serviceMemoryBytes(config: Config): number {
  return memoryAccount.reduce((sum, { bytes }) => sum + bytes(config), 0);
}
