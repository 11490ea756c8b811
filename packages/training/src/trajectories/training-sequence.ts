import type { Loc } from "@heddle/errors";
import type { TokenSequence } from "../port.js";

export interface TrainingSequence extends TokenSequence {
  /** Log-probabilities under the sampling policy; NaN for unknown ones and for untrained tokens. */
  oldLogprobs: Float64Array;
  /** Step of the weights that all its turns were sampled with, where every choice says it. */
  sampledAt?: number | undefined;
  /** What the turn of each token adds to the advantage of the trajectory. Absent: nothing. */
  turnAdvantages?: Float64Array;
  /** Longer than the maximum. */
  tooLong: boolean;
  /** Location of the first trained turn. */
  loc: Loc;
}

/** The sampled tokens of a turn. */
export interface TrainedTurn {
  tokens: { ids: ArrayLike<number>; logprobs: ArrayLike<number> };
  /** Step of the weights that it was sampled with, if it is known. */
  step?: number | undefined;
  /** What it adds to the advantage of its trajectory. */
  advantage?: number | undefined;
}

/** Builds a sequence from context and trained tokens. */
export interface SequenceBuilder {
  readonly length: number;
  context(ids: ArrayLike<number>): void;
  trained(turn: TrainedTurn): void;
  /** Returns whether the tokens so far are a prefix of `ids`. */
  isPrefixOf(ids: ArrayLike<number>): boolean;
  build(maxTokens: number): TrainingSequence;
}

export function sequenceBuilder(loc: Loc): SequenceBuilder {
  const tokens: number[] = [];
  const mask: number[] = [];
  const oldLogprobs: number[] = [];
  const advantages: number[] = [];
  const steps = new Set<number | undefined>();
  const append = (id: number, trained: 0 | 1, { logprob = Number.NaN, advantage = 0 } = {}): void => {
    // The first token has no preceding token to be predicted from.
    const learn = trained === 1 && tokens.length > 0;
    tokens.push(id);
    mask.push(learn ? 1 : 0);
    oldLogprobs.push(learn ? logprob : Number.NaN);
    advantages.push(learn ? advantage : 0);
  };
  return {
    get length() {
      return tokens.length;
    },
    context(ids) {
      for (const id of Array.from(ids)) append(id, 0);
    },
    trained({ tokens: { ids, logprobs }, step, advantage }) {
      steps.add(step);
      for (const [index, id] of Array.from(ids).entries()) append(id, 1, { logprob: logprobs[index], advantage });
    },
    isPrefixOf: (ids) => ids.length >= tokens.length && tokens.every((token, index) => token === ids[index]),
    build: (maxTokens) => ({
      tokens: Int32Array.from(tokens),
      mask: Uint8Array.from(mask),
      oldLogprobs: Float64Array.from(oldLogprobs),
      sampledAt: steps.size === 1 ? [...steps][0] : undefined,
      ...(advantages.some((advantage) => advantage !== 0) && { turnAdvantages: Float64Array.from(advantages) }),
      tooLong: tokens.length > maxTokens,
      loc,
    }),
  };
}
