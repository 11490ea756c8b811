import type { StructuredOutput } from "./structured-output.js";
import type { WireError } from "@heddle/concurrency";

// Each request except `close` has one reply, in the order of the requests. The first reply, for the request 0, means
// that the thread is ready.

export interface GrammarWorkerData {
  /** The concatenated bytes of all tokens. A token that must not appear in text has none. */
  bytes: Uint8Array;
  /** `ends[t]` is the end of the bytes of token t. */
  ends: Uint32Array;
  /** Number of tokens in a mask. */
  vocabularySize: number;
  /** End-of-text tokens. */
  eosIds: number[];
  /** Memory limit of all grammars together. */
  memoryBytes: number;
  cachedGrammars: number;
}

/** The first request of a session has `output`. `tokens` are accepted before the reply is computed. */
export type GrammarWorkerRequest =
  | { do: "advance" | "verify"; id: number; session: number; output?: StructuredOutput; tokens: number[] }
  | { do: "close"; session: number };

export interface GrammarWorkerValue {
  mask?: Int32Array;
  onlyEos?: boolean;
  tookMs?: number;
}

/** `broken`: the grammar library has aborted and must not be used again. */
export type GrammarWorkerReply = { id: number } & (
  | { value: GrammarWorkerValue }
  | { error: WireError; broken: boolean }
);
