import { HeddleError } from "@heddle/errors";
import type { CompletionChunk, SampledToken } from "@heddle/training";
import { alternativesCount } from "../sampling/sampled-token.js";
import type { SamplingResult } from "../sampling/sampling-request.js";

/**
 * Maximum number of log-probabilities in one result: sampled tokens, prompt tokens and the alternatives of both. A
 * result is copied into the service, where each takes about 100 bytes. A request for all alternatives of every token
 * could ask for a hundred times as many.
 */
export const maxLogprobs = 2_000_000;

export interface ResponseLimit {
  /** Aborts when the result exceeds the limit. */
  signal: AbortSignal;
  /** Counts the log-probabilities of a chunk. */
  add(chunk: CompletionChunk): void;
  /** Throws `too_large` when the chunks so far, or the complete `result`, exceed the limit. */
  check(result?: SamplingResult): void;
}

/** Enforces the limit of one result while it is generated. */
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
      const limit = `the result exceeds ${maximum} log-probabilities`;
      throw new HeddleError("too_large", `${limit}; request fewer tokens, completions or alternatives`);
    },
  };
}

function logprobCount(tokens: SampledToken[]): number {
  return tokens.reduce((sum, token) => sum + 1 + alternativesCount(token), 0);
}

function totalLogprobCount({ completions, promptLogprobs = [] }: SamplingResult): number {
  const sampled = completions.reduce((sum, { tokens }) => sum + logprobCount(tokens), 0);
  return promptLogprobs.reduce((sum, entries) => sum + (entries?.length ?? 0), sampled);
}
