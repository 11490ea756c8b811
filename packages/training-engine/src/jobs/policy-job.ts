import type { PolicySequence, TokenSequence, WeightsRef } from "../port.js";
import type { ReferencePolicy, RlConfig } from "./rl-config.js";
import type { TrainingJob } from "./training-job.js";

/** One trajectory that there is something to learn from. */
export interface Rollout {
  /** Index of its group: sequences of one group share steps. */
  group: number;
  /** Relative to its group; not 0. */
  advantage: number;
  /** One for each of its histories; log-probabilities are NaN where unknown. */
  sequences: (TokenSequence & { oldLogprobs: Float64Array })[];
}

export interface PolicyJob extends TrainingJob {
  settings: RlConfig;
  rollouts: Rollout[];
  /** Factor of the learning rate besides those of the settings. */
  learningRateFactor: number;
  /** Numbers that every event repeats. */
  constants: Record<string, number>;
  /** Finds the weights that a KL penalty refers to; without it that can only be the base model. */
  referenceWeights?: (reference: ReferencePolicy) => Promise<WeightsRef>;
}

export interface PlannedSequence {
  group: number;
  sequence: PolicySequence;
  /** Log-probabilities under the policy that the KL penalty refers to. */
  reference?: Float64Array;
}
