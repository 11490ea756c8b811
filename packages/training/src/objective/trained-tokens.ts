import { HeddleError } from "@heddle/errors";
import type { TokenSequence } from "../port.js";

/** Returns the number of tokens with mask 1. */
export function trainedTokens(sequence: TokenSequence): number {
  let count = 0;
  for (const trained of sequence.mask) if (trained) count++;
  return count;
}

/**
 * Throws `invalid` if an array's length differs from the number of tokens, and `failed` if the log-probability of a
 * trained token is not finite: the weights have diverged, usually because the learning rate is too high.
 */
export function checkSequence(
  sequence: TokenSequence,
  logprobs: Float64Array,
  arrays: Record<string, ArrayLike<number> | undefined>,
): void {
  for (const [name, values] of Object.entries({ mask: sequence.mask, logprobs, ...arrays })) {
    if (values && values.length !== sequence.tokens.length) {
      throw new HeddleError("invalid", `${name} has ${values.length} entries for ${sequence.tokens.length} tokens.`, {
        loc: [name],
      });
    }
  }
  for (let t = 0; t < logprobs.length; t++) {
    if (sequence.mask[t] && !Number.isFinite(logprobs[t])) {
      throw new HeddleError(
        "failed",
        `The log-probability of token ${t} is ${logprobs[t]}: the weights have diverged.`,
        { details: { reason: "divergence" } },
      );
    }
  }
}
