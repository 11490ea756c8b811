import type { MetricSums } from "./metric-sums.js";

/** Loss of one sequence, not yet divided by the objective's `normalizer`. */
export interface SequenceLoss {
  /** Sum over the trained tokens. */
  loss: number;
  /** dLoss/dlogprob per token; 0 for untrained tokens. */
  gradient: Float64Array;
  sums: MetricSums;
}
