import type { Written } from "./library.js";

// A thread gets one request at a time, and replies once to each; its first reply reports that it is ready.

export interface WorkerData {
  directory: string;
  engineArguments: string[];
  /** Writes to files that had failed when the engine was open. */
  failedWrites: number;
}

/** What a statement needs of the session it runs on. */
export interface SessionNeeds {
  /** Statements that make a new session fit: its database and settings. Run once per session. */
  setup: string;
  /** Names the parameters that are set. A session keeps values, so it serves only statements with the same names. */
  parameterNames: string;
  /** Sets the values of all these parameters; empty without any. */
  parameters: string;
  /** The statement changes nothing of the session, so that the next one may use it too. */
  reusable: boolean;
}

/** A statement with all of its data and its result. */
export type WholeRequest =
  /** `changes`: the statement may write. */
  | { do: "run"; session: SessionNeeds; sql: string; format: string; changes: boolean }
  | { do: "insert"; session: SessionNeeds; sql: string; bytes: Buffer };

export type WorkerRequest =
  | { do: "stream"; session: SessionNeeds; sql: string; format: string }
  | { do: "next" }
  | { do: "endStream" }
  | { do: "closeSessions" };

export interface WorkerValue {
  bytes?: Uint8Array;
  rows?: number;
  readBytes?: number;
  written?: Written;
  /** The stream has ended. */
  done?: boolean;
}

export type WorkerReply = { value: WorkerValue } | { error: string };
