import { EngineError } from "../../engine-error.js";
import type { GenerateResult, GenerationChunk, SampledToken } from "../../port.js";

/**
 * Log-probabilities that one answer may hold: sampled tokens, prompt tokens and the alternatives of both. An answer is copied
 * into the service, where each of them takes about 100 bytes; a request for all alternatives of every token could ask for a
 * hundred times as many.
 */
export const mostLogprobs = 2_000_000;

export interface AnswerLimit {
  /** Aborts when the answer has become too large. */
  signal: AbortSignal;
  /** Counts what was sampled. */
  add(chunk: GenerationChunk): void;
  /** Throws `too_large` when what was sampled so far, or the whole `result`, is over the limit. */
  check(result?: GenerateResult): void;
}

/** Watches over the size of one answer while it grows. */
export function answerLimit(most: number): AnswerLimit {
  const controller = new AbortController();
  let count = 0;
  return {
    signal: controller.signal,
    add({ tokens }) {
      count += entriesOf(tokens);
      if (count > most) controller.abort();
    },
    check(result) {
      if ((result ? entriesOfAll(result) : count) <= most) return;
      const limit = `the answer would hold more than ${most} log-probabilities`;
      throw new EngineError("too_large", `${limit}; ask for fewer tokens, completions or alternatives`);
    },
  };
}

function entriesOf(tokens: SampledToken[]): number {
  return tokens.reduce((sum, { alternatives }) => sum + 1 + alternatives.length, 0);
}

function entriesOfAll({ generations, promptLogprobs = [] }: GenerateResult): number {
  const sampled = generations.reduce((sum, { tokens }) => sum + entriesOf(tokens), 0);
  return promptLogprobs.reduce((sum, entries) => sum + (entries?.length ?? 0), sampled);
}
