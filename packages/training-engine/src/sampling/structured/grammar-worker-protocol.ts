import type { StructuredOutput } from "../../port.js";
import type { WireError } from "../../wire-error.js";

// Requests are answered in their order, one reply each; `close` has none. The first reply, for the request 0, says that the
// thread is ready.

export interface GrammarWorkerData {
  /** The bytes of all tokens, one after the other; a token that must not appear in text has none. */
  bytes: Uint8Array;
  /** `ends[t]` is where token t's bytes end. */
  ends: Uint32Array;
  /** Width of the masks. */
  vocabularySize: number;
  /** End-of-text tokens. */
  eosIds: number[];
  /** The most that the grammars may take together. */
  memoryBytes: number;
  cachedGrammars: number;
}

/** `output` comes with the first request of a session; `tokens` are accepted before the answer is made. */
export type GrammarWorkerRequest =
  | { do: "advance" | "verify"; id: number; session: number; output?: StructuredOutput; tokens: number[] }
  | { do: "close"; session: number };

export interface GrammarWorkerValue {
  mask?: Int32Array;
  onlyEos?: boolean;
  tookMs?: number;
}

/** `broken`: the grammar library ended itself and must not be used again. */
export type GrammarWorkerReply = { id: number } & (
  | { value: GrammarWorkerValue }
  | { error: WireError; broken: boolean }
);
