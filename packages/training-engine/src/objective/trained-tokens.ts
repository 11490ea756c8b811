import { EngineError } from "../engine-error.js";
import type { TokenSequence } from "../port.js";

/** Tokens with mask 1. */
export function trainedTokens(sequence: TokenSequence): number {
  let count = 0;
  for (const trained of sequence.mask) if (trained) count++;
  return count;
}

/**
 * Throws `invalid` when an array of the sequence has another length than its tokens, and `failed` when the model gave a
 * trained token no finite log-probability: its weights are broken, usually by a learning rate that is too high.
 */
export function checkSequence(
  sequence: TokenSequence,
  logprobs: Float64Array,
  arrays: Record<string, ArrayLike<number> | undefined>,
): void {
  for (const [name, values] of Object.entries({ mask: sequence.mask, logprobs, ...arrays })) {
    if (values && values.length !== sequence.tokens.length) {
      throw new EngineError(
        "invalid",
        `${name} has ${values.length} entries for ${sequence.tokens.length} tokens.`,
        name,
      );
    }
  }
  for (let t = 0; t < logprobs.length; t++) {
    if (sequence.mask[t] && !Number.isFinite(logprobs[t])) {
      throw new EngineError(
        "failed",
        `The model gave token ${t} the log-probability ${logprobs[t]}: its weights are no longer usable.`,
      );
    }
  }
}
