import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import type { Objective, TokenSequence } from "../port.js";

/** Limits of a model that its training sequences must keep. */
export interface SequenceLimits {
  vocabularySize: number;
  /** Maximum number of tokens of a sequence. */
  contextLength: number;
}

/** Throws for the first sequence that the model cannot process, with its loc. */
export function checkSequences(sequences: readonly TokenSequence[], config: SequenceLimits): void {
  sequences.forEach((sequence, index) => {
    const { tokens, mask } = sequence;
    const at = ["sequences", index];
    if (tokens.length > config.contextLength) {
      throw new HeddleError(
        "too_large",
        `the sequence has ${tokens.length} tokens; the model's context has ${config.contextLength}`,
        { loc: [...at, "tokens"] },
      );
    }
    checkLength(mask, tokens, [...at, "mask"]);
    const invalidIndex = tokens.findIndex((token) => token < 0 || token >= config.vocabularySize);
    if (invalidIndex >= 0) {
      throw new HeddleError(
        "invalid",
        `token ${tokens[invalidIndex]} is not in the vocabulary of ${config.vocabularySize} entries`,
        { loc: [...at, "tokens", invalidIndex] },
      );
    }
    const nonBinary = mask.findIndex((each) => each > 1);
    if (nonBinary >= 0)
      throw new HeddleError("invalid", `${mask[nonBinary]} is neither 0 nor 1`, { loc: [...at, "mask", nonBinary] });
    if (mask[0]) {
      throw new HeddleError("invalid", "the first token cannot be trained: nothing predicts it", {
        loc: [...at, "mask", 0],
      });
    }
  });
}

/**
 * Throws `invalid` for an objective whose values would make the gradient meaningless. NaN is allowed in
 * log-probabilities and means unknown.
 */
export function checkObjective(objective: Objective, config: SequenceLimits): void {
  checkSequences(objective.sequences, config);
  if (objective.name === "cross_entropy") {
    objective.sequences.forEach(({ tokens, weights }, index) => {
      if (weights) checkFinite(weights, tokens, ["sequences", index, "weights"]);
    });
  } else {
    const { klLoss } = objective.settings;
    objective.sequences.forEach((sequence, index) => {
      const { tokens, mask, weights, advantages, oldLogprobs, rolloutLogprobs, referenceLogprobs, segments } = sequence;
      const at = ["sequences", index];
      checkFinite(weights, tokens, [...at, "weights"]);
      checkFinite(advantages, tokens, [...at, "advantages"]);
      checkLogprobs(oldLogprobs, tokens, [...at, "oldLogprobs"]);
      if (rolloutLogprobs) checkLogprobs(rolloutLogprobs, tokens, [...at, "rolloutLogprobs"]);
      if (klLoss) checkReference(referenceLogprobs, { tokens, mask }, [...at, "referenceLogprobs"]);
      if (segments) checkLength(segments, tokens, [...at, "segments"]);
    });
  }
  const trains = objective.sequences.some(({ mask }) => mask.includes(1));
  if (trains && !(Number.isFinite(objective.normalizer) && objective.normalizer > 0)) {
    throw new HeddleError("invalid", `the normalizer must be a positive number, not ${objective.normalizer}`, {
      loc: ["normalizer"],
    });
  }
}

function checkLength(values: ArrayLike<number>, tokens: Int32Array, loc: Loc): void {
  if (values.length !== tokens.length) {
    throw new HeddleError("invalid", `${values.length} entries for ${tokens.length} tokens`, { loc });
  }
}

function checkFinite(values: Float64Array, tokens: Int32Array, loc: Loc): void {
  checkLength(values, tokens, loc);
  const invalidIndex = values.findIndex((value) => !Number.isFinite(value));
  if (invalidIndex >= 0)
    throw new HeddleError("invalid", `${values[invalidIndex]} is not a finite number`, { loc: [...loc, invalidIndex] });
}

/** The reference of a KL loss has a log-probability for each trained token. */
function checkReference(values: Float64Array = new Float64Array(), { tokens, mask }: TokenSequence, loc: Loc): void {
  checkLength(values, tokens, loc);
  const invalidIndex = values.findIndex((value, at) => mask[at] === 1 && !Number.isFinite(value));
  if (invalidIndex >= 0)
    throw new HeddleError("invalid", "a trained token has no log-probability of the reference", {
      loc: [...loc, invalidIndex],
    });
}

function checkLogprobs(values: Float64Array, tokens: Int32Array, loc: Loc): void {
  checkLength(values, tokens, loc);
  const invalidIndex = values.findIndex((value) => value === Infinity || value === -Infinity);
  if (invalidIndex >= 0)
    throw new HeddleError("invalid", `${values[invalidIndex]} is not a log-probability`, {
      loc: [...loc, invalidIndex],
    });
}
