import type { KlLossSettings } from "../port.js";
import { clampedLogRatio } from "./importance-ratio.js";

/**
 * Estimates the divergence KL(current || reference) by one sampled token, with its derivative by the token's
 * log-probability. With d = reference - current log-probability, clamped as log-ratios are:
 *
 * - `k1` = -d: unbiased. Its derivative is 1 for every token, so on policy the expected gradient, the expectation of
 *   `1 * dlogprob`, is 0: as a loss it restrains only samples of other policies. A penalty in the advantage uses the
 *   same estimate with an effect.
 * - `k3` = exp(d) - d - 1: unbiased, never negative, 0 where both agree. Its derivative is 1 - exp(d), whose expectation
 *   on policy is the gradient of KL(reference || current).
 */
export function klEstimate(
  estimator: KlLossSettings["estimator"],
  logprob: number,
  reference: number,
): { value: number; slope: number } {
  const { value: d, hasSlope } = clampedLogRatio(reference - logprob);
  if (estimator === "k1") return { value: -d, slope: hasSlope ? 1 : 0 };
  return { value: Math.exp(d) - d - 1, slope: hasSlope ? 1 - Math.exp(d) : 0 };
}
