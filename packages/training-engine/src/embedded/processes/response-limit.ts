import { EngineError } from "../../engine-error.js";
import type { GenerateResult, CompletionChunk, SampledToken } from "../../port.js";

/**
 * Log-probabilities that one answer may hold: sampled tokens, prompt tokens and the alternatives of both. An answer is copied
 * into the service, where each of them takes about 100 bytes; a request for all alternatives of every token could ask for a
 * hundred times as many.
 */
export const maxLogprobs = 2_000_000;

export interface ResponseLimit {
  /** Aborts when the answer has become too large. */
  signal: AbortSignal;
  /** Counts what was sampled. */
  add(chunk: CompletionChunk): void;
  /** Throws `too_large` when what was sampled so far, or the whole `result`, is over the limit. */
  check(result?: GenerateResult): void;
}

/** Watches over the size of one answer while it grows. */
export function responseLimit(maximum: number): ResponseLimit {
  const controller = new AbortController();
  let count = 0;
  return {
    signal: controller.signal,
    add({ tokens }) {
      count += logprobCount(tokens);
      if (count > maximum) controller.abort();
    },
    check(result) {
      if ((result ? totalLogprobCount(result) : count) <= maximum) return;
      const limit = `the answer would hold more than ${maximum} log-probabilities`;
      throw new EngineError("too_large", `${limit}; ask for fewer tokens, completions or alternatives`);
    },
  };
}

function logprobCount(tokens: SampledToken[]): number {
  return tokens.reduce((sum, { alternatives }) => sum + 1 + alternatives.length, 0);
}

function totalLogprobCount({ completions, promptLogprobs = [] }: GenerateResult): number {
  const sampled = completions.reduce((sum, { tokens }) => sum + logprobCount(tokens), 0);
  return promptLogprobs.reduce((sum, entries) => sum + (entries?.length ?? 0), sampled);
}
