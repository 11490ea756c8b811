import type { PolicySequence, TokenSequence, WeightsRef } from "../port.js";
import type { ReferencePolicy, RlConfig } from "./rl-config.js";
import type { TrainingJob } from "./training-job.js";

/** A trajectory that itself or a turn of which has an advantage. */
export interface Rollout {
  /** Index of its group; sequences of one group share steps. */
  group: number;
  /** Advantage relative to its group. */
  advantage: number;
  /** One sequence per history; log-probabilities are NaN where unknown. */
  sequences: (TokenSequence & {
    oldLogprobs: Float64Array;
    sampledAt?: number | undefined;
    /** What the turn of each token adds to the advantage. Absent: nothing. */
    turnAdvantages?: Float64Array | undefined;
  })[];
}

export interface PolicyJob extends TrainingJob {
  settings: RlConfig;
  /** Step of the weights that the job starts from, if choices say which step sampled them. */
  fromStep?: number;
  /** Size of the model's vocabulary; see `GradientPlan`. */
  vocabularySize?: number;
  rollouts: Rollout[];
  /** Additional factor of the learning rate. */
  learningRateFactor: number;
  /** Values that every event repeats. */
  constants: Record<string, number>;
  /** Resolves the reference weights of a KL penalty. Absent: only the base model is supported. */
  referenceWeights?: (reference: ReferencePolicy) => Promise<WeightsRef>;
}

export interface PlannedSequence {
  group: number;
  /** Step of the weights that sampled all of it, where that is known. */
  sampledAt?: number | undefined;
  sequence: PolicySequence;
  /** Log-probabilities under the reference policy of the KL penalty. */
  reference?: Float64Array;
}
