import type { CrossEntropySequence } from "../port.js";
import type { SequenceLoss } from "./sequence-loss.js";
import { checkSequence } from "./trained-tokens.js";

/** Computes the cross-entropy: the sum of `-weight * logprob` over the trained tokens (weight 1 by default). */
export function crossEntropyLoss(sequence: CrossEntropySequence, logprobs: Float64Array): SequenceLoss {
  const { mask, weights } = sequence;
  checkSequence(sequence, logprobs, { weights });
  const gradient = new Float64Array(mask.length);
  let loss = 0;
  let trained = 0;
  for (let t = 0; t < mask.length; t++) {
    if (!mask[t]) continue;
    const weight = weights?.[t] ?? 1;
    loss -= weight * (logprobs[t] ?? 0);
    gradient[t] = -weight;
    trained++;
  }
  return { loss, gradient, sums: { trainedTokens: trained } };
}
