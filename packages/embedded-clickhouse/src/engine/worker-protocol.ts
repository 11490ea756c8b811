import type { Written } from "./library.js";

// One request at a time per thread, one reply per request; the first reply reports that the thread is ready.

export interface WorkerData {
  directory: string;
  engineArguments: string[];
}

export type WorkerRequest =
  | { do: "open"; setup: string }
  | { do: "buffered"; sql: string; format: string }
  | { do: "insert"; sql: string; bytes: Uint8Array }
  | { do: "stream"; sql: string; format: string }
  | { do: "next" }
  | { do: "close" };

export interface WorkerValue {
  bytes?: Uint8Array;
  rows?: number;
  readBytes?: number;
  written?: Written;
  /** The stream has ended. */
  done?: boolean;
}

export type WorkerReply = { value: WorkerValue } | { error: string };
