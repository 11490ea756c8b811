import type { MetricSums } from "./metric-sums.js";

/** Loss of one sequence; nothing is divided by the objective's `normalizer` yet. */
export interface SequenceLoss {
  /** Sum over the trained tokens. */
  loss: number;
  /** dLoss/dlogprob, as long as the tokens; 0 where nothing is trained. */
  gradient: Float64Array;
  sums: MetricSums;
}
