import { EngineError } from "../../engine-error.js";
import type { ModelConfig } from "../../model/config.js";
import type { Objective, TokenSequence } from "../../port.js";

/** Throws for the first sequence that the model cannot process, with its path. */
export function checkSequences(sequences: readonly TokenSequence[], config: ModelConfig): void {
  sequences.forEach((sequence, index) => {
    const { tokens, mask } = sequence;
    const at = `sequences.${index}`;
    if (tokens.length > config.contextLength) {
      throw new EngineError(
        "too_large",
        `the sequence has ${tokens.length} tokens; the model's context has ${config.contextLength}`,
        `${at}.tokens`,
      );
    }
    checkLength(mask, tokens, `${at}.mask`);
    const invalidIndex = tokens.findIndex((token) => token < 0 || token >= config.vocabularySize);
    if (invalidIndex >= 0) {
      throw new EngineError(
        "invalid",
        `token ${tokens[invalidIndex]} is not in the vocabulary of ${config.vocabularySize} entries`,
        `${at}.tokens.${invalidIndex}`,
      );
    }
    const nonBinary = mask.findIndex((each) => each > 1);
    if (nonBinary >= 0)
      throw new EngineError("invalid", `${mask[nonBinary]} is neither 0 nor 1`, `${at}.mask.${nonBinary}`);
    if (mask[0]) {
      throw new EngineError("invalid", "the first token cannot be trained: nothing predicts it", `${at}.mask.0`);
    }
  });
}

/**
 * Throws `invalid` for an objective whose values would make the gradient meaningless. NaN is allowed in
 * log-probabilities and means unknown.
 */
export function checkObjective(objective: Objective, config: ModelConfig): void {
  checkSequences(objective.sequences, config);
  if (objective.name === "cross_entropy") {
    objective.sequences.forEach(({ tokens, weights }, index) => {
      if (weights) checkFinite(weights, tokens, `sequences.${index}.weights`);
    });
  } else {
    objective.sequences.forEach(({ tokens, weights, advantages, oldLogprobs, rolloutLogprobs, segments }, index) => {
      const at = `sequences.${index}`;
      checkFinite(weights, tokens, `${at}.weights`);
      checkFinite(advantages, tokens, `${at}.advantages`);
      checkLogprobs(oldLogprobs, tokens, `${at}.oldLogprobs`);
      if (rolloutLogprobs) checkLogprobs(rolloutLogprobs, tokens, `${at}.rolloutLogprobs`);
      if (segments) checkLength(segments, tokens, `${at}.segments`);
    });
  }
  const trains = objective.sequences.some(({ mask }) => mask.includes(1));
  if (trains && !(Number.isFinite(objective.normalizer) && objective.normalizer > 0)) {
    throw new EngineError(
      "invalid",
      `the normalizer must be a positive number, not ${objective.normalizer}`,
      "normalizer",
    );
  }
}

function checkLength(values: ArrayLike<number>, tokens: Int32Array, path: string): void {
  if (values.length !== tokens.length) {
    throw new EngineError("invalid", `${values.length} entries for ${tokens.length} tokens`, path);
  }
}

function checkFinite(values: Float64Array, tokens: Int32Array, path: string): void {
  checkLength(values, tokens, path);
  const invalidIndex = values.findIndex((value) => !Number.isFinite(value));
  if (invalidIndex >= 0)
    throw new EngineError("invalid", `${values[invalidIndex]} is not a finite number`, `${path}.${invalidIndex}`);
}

function checkLogprobs(values: Float64Array, tokens: Int32Array, path: string): void {
  checkLength(values, tokens, path);
  const invalidIndex = values.findIndex((value) => value === Infinity || value === -Infinity);
  if (invalidIndex >= 0)
    throw new EngineError("invalid", `${values[invalidIndex]} is not a log-probability`, `${path}.${invalidIndex}`);
}
