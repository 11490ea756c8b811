import { HeddleError } from "@heddle/errors";
import type { Objective, TokenSequence } from "../port.js";
import { policyLoss } from "./policy-loss.js";
import { crossEntropyLoss } from "./cross-entropy-loss.js";
import type { MetricSums } from "./metric-sums.js";
import { addSums } from "./metric-sums.js";
import type { SequenceLoss } from "./sequence-loss.js";

/**
 * Computes the loss of one sequence of an objective, given the log-probabilities of its tokens under the current
 * weights (aligned as in the port; those of untrained tokens are not read). Throws `failed` if the log-probability of a
 * trained token is not finite.
 */
export function sequenceLoss(objective: Objective, index: number, logprobs: Float64Array): SequenceLoss {
  if (objective.name === "cross_entropy") return crossEntropyLoss(sequenceAt(objective.sequences, index), logprobs);
  return policyLoss(sequenceAt(objective.sequences, index), logprobs, objective.settings);
}

/** Computes the loss of an objective from the log-probabilities of all its sequences, with the sums of its metrics. */
export function objectiveLoss(objective: Objective, logprobs: Float64Array[]): { loss: number; sums: MetricSums } {
  const sums: MetricSums = {};
  let loss = 0;
  for (const [index, values] of logprobs.entries()) {
    const result = sequenceLoss(objective, index, values);
    loss += result.loss / objective.normalizer;
    addSums(sums, result.sums);
  }
  return { loss, sums };
}

function sequenceAt<T extends TokenSequence>(sequences: T[], index: number): T {
  const sequence = sequences[index];
  if (!sequence)
    throw new HeddleError("invalid", `The objective has no sequence ${index}.`, { loc: ["sequences", index] });
  return sequence;
}
