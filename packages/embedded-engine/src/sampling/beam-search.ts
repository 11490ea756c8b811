import type { Completion, SampledToken } from "@heddle/training";
import { topIndices, rawDistribution } from "./raw-distribution.js";
import type { Tokenizer } from "@heddle/chat-format";
import { createTextStream } from "@heddle/chat-format";
import type { CompletionContext } from "./completion-sampler.js";
import { invalidLogits } from "./completion-sampler.js";

/** A partial completion. Its tokens are a linked list, which beams with a common prefix share. */
interface Beam {
  last?: TokenLink;
  length: number;
  /** Sum of the log-probabilities. */
  total: number;
}
interface TokenLink {
  sampled: SampledToken;
  before?: TokenLink;
}
interface Finished extends Beam {
  score: number;
  finishReason: "stop" | "length";
}

/** A beam that continues after a step. `parent` is the index of its predecessor before the step. */
interface BeamStep {
  continuations: { parent: number; token: number }[];
}

export interface BeamSearch {
  /**
   * Takes the logits of every continued beam in the order of the last `continues`, or one row for the prompt at first.
   */
  step(rows: { logits: Float32Array; offset: number }[]): BeamStep;
  /** Returns the best `n` completions, best first, after a step that continues no beam. */
  result(): Completion[];
}

/**
 * Creates a beam search, which keeps the `n` most likely partial completions. A candidate is a beam with one more
 * token. Each beam offers its 2 n most likely candidates per step, so that n continue even if some end. The score of a
 * completion is the sum of its raw log-probabilities divided by `length ** lengthPenalty`; the end-of-text token counts
 * in the sum, not in the length.
 */
export function createBeamSearch({ request, tokenizer, eosIds, rowSize }: CompletionContext): BeamSearch {
  const { n, maxTokens, ignoreEos = false, topLogprobs = 0 } = request;
  const lengthPenalty = request.beamSearch?.lengthPenalty ?? 1;
  const drawableTokens = Math.min(rowSize, tokenizer.vocabularySize);
  const ends = new Set(ignoreEos ? [] : eosIds);
  const finished: Finished[] = [];
  let beams: Beam[] = [{ length: 0, total: 0 }];

  const finish = (beam: Beam, length: number, finishReason: Finished["finishReason"]) => {
    finished.push({ ...beam, finishReason, score: beam.total / Math.max(1, length) ** lengthPenalty });
    finished.sort((a, b) => b.score - a.score);
    finished.length = Math.min(finished.length, n);
  };
  /**
   * Returns whether a continued beam could still exceed the worst of n finished ones: its sum only falls, its length
   * only grows.
   */
  const cannotImprove = (beam: Beam): boolean => {
    const worst = finished[n - 1];
    if (!worst) return false;
    const bestLength = lengthPenalty > 0 ? maxTokens : beam.length;
    return beam.total / bestLength ** lengthPenalty <= worst.score;
  };

  return {
    step(rows) {
      const candidates = rows.flatMap(({ logits, offset }, parent) => {
        const beam = beams[parent]!;
        const raw = rawDistribution(logits, offset, rowSize);
        if (Number.isNaN(raw.logprob(0))) throw invalidLogits();
        const sampledOf = raw.withAlternatives(topLogprobs);
        return Array.from(topIndices(logits.subarray(offset, offset + drawableTokens), 2 * n), (token) => {
          const sampled = sampledOf(token);
          const next = {
            last: { sampled, before: beam.last },
            length: beam.length + 1,
            total: beam.total + sampled.logprob,
          };
          return { parent, token, next };
        });
      });
      candidates.sort((a, b) => b.next.total - a.next.total);
      const continuing: typeof candidates = [];
      for (const candidate of candidates) {
        if (continuing.length === n) break;
        if (ends.has(candidate.token)) finish(candidate.next, candidate.next.length - 1, "stop");
        else continuing.push(candidate);
      }
      const active = continuing.filter(({ next }) => {
        if (next.length >= maxTokens) finish(next, next.length, "length");
        return next.length < maxTokens && !cannotImprove(next);
      });
      beams = active.map(({ next }) => next);
      return { continuations: active.map(({ parent, token }) => ({ parent, token })) };
    },
    result: () =>
      finished.map((beam, index) => {
        const tokens = tokensOf(beam.last);
        const visible = beam.finishReason === "stop" && !request.includeStop ? tokens.slice(0, -1) : tokens;
        const text = textOf(tokenizer, visible, request.skipSpecialTokens ?? true);
        return { index, text, tokens, finishReason: beam.finishReason, stopReason: null };
      }),
  };
}

function tokensOf(last: TokenLink | undefined): SampledToken[] {
  const tokens: SampledToken[] = [];
  for (let link = last; link; link = link.before) tokens.push(link.sampled);
  return tokens.toReversed();
}

function textOf(
  tokenizer: Pick<Tokenizer, "tokenBytes" | "specialIds">,
  tokens: readonly SampledToken[],
  skipSpecialTokens: boolean,
): string {
  const stream = createTextStream(tokenizer, { skipSpecialTokens });
  return tokens.map(({ token }) => stream.push(token)).join("") + stream.flush();
}
