import type { PolicySettings } from "../port.js";

/**
 * Limit of log-ratios; beyond it they are clamped and have slope 0. e^60 squared still fits a float32 gradient norm.
 * Correct samples stay far below; wrong old log-probabilities must not produce infinities.
 */
const logRatioLimit = 60;

/** A difference of log-probabilities within the limit, and whether it changes with them. */
export function clampedLogRatio(difference: number): { value: number; hasSlope: boolean } {
  return {
    value: Math.max(-logRatioLimit, Math.min(logRatioLimit, difference)),
    hasSlope: Math.abs(difference) < logRatioLimit,
  };
}

export interface ImportanceRatios {
  /** New minus old log-probability; 0 where the old one is unknown. Entries of untrained tokens are 0 in all arrays. */
  logRatio: Float64Array;
  ratio: Float64Array;
  /** Derivative of a token's ratio by its own log-probability, excluding its part in the segment's mean. */
  tokenSlope: Float64Array;
  /** Derivative of a token's ratio by the mean log-ratio of its segment. */
  segmentSlope: Float64Array;
  /** Converts derivatives by the ratios (dLoss/dratio per token) to derivatives by the log-probabilities. */
  backward(slopes: Float64Array): Float64Array;
}

/**
 * Computes the probability ratios of the trained tokens between the current and the old policy. With d = new - old, r =
 * exp(d) and q = exp(mean of d over the trained tokens of the segment), the ratio is r (`token`), q (`sequence`), (r +
 * q) / 2 (`average`) or sqrt(r q) (`geometric_average`). If old is unknown, it is the current one held constant: the
 * ratio is 1, with the usual derivative.
 */
export function importanceRatios(
  mask: Uint8Array,
  logprobs: Float64Array,
  oldLogprobs: Float64Array,
  segments: Int32Array | undefined,
  level: PolicySettings["importanceSamplingLevel"],
): ImportanceRatios {
  const length = mask.length;
  const logRatio = new Float64Array(length);
  const hasSlope = new Uint8Array(length);
  const bySegment = new Map<number, { tokens: number[]; mean: number }>();
  for (let t = 0; t < length; t++) {
    if (!mask[t]) continue;
    const old = oldLogprobs[t] ?? NaN;
    const clamped = clampedLogRatio(Number.isNaN(old) ? 0 : (logprobs[t] ?? NaN) - old);
    logRatio[t] = clamped.value;
    hasSlope[t] = clamped.hasSlope ? 1 : 0;
    const segment = segments?.[t] ?? 0;
    const members = bySegment.get(segment);
    if (members) members.tokens.push(t);
    else bySegment.set(segment, { tokens: [t], mean: 0 });
  }
  for (const segment of bySegment.values()) {
    segment.mean = segment.tokens.reduce((sum, t) => sum + (logRatio[t] ?? 0), 0) / segment.tokens.length;
  }

  const ratio = new Float64Array(length);
  const tokenSlope = new Float64Array(length);
  const segmentSlope = new Float64Array(length);
  for (const { tokens, mean } of bySegment.values()) {
    for (const t of tokens) {
      const d = logRatio[t] ?? 0;
      const r = Math.exp(d);
      const q = Math.exp(mean);
      if (level === "token") {
        ratio[t] = r;
        tokenSlope[t] = r;
      } else if (level === "sequence") {
        ratio[t] = q;
        segmentSlope[t] = q;
      } else if (level === "average") {
        ratio[t] = (r + q) / 2;
        tokenSlope[t] = r / 2;
        segmentSlope[t] = q / 2;
      } else {
        ratio[t] = Math.exp((d + mean) / 2);
        tokenSlope[t] = (ratio[t] ?? 0) / 2;
        segmentSlope[t] = (ratio[t] ?? 0) / 2;
      }
    }
  }
  return { logRatio, ratio, tokenSlope, segmentSlope, backward };

  function backward(slopes: Float64Array): Float64Array {
    const gradient = new Float64Array(length);
    for (const { tokens } of bySegment.values()) {
      const segmentGradient =
        tokens.reduce((sum, t) => sum + (slopes[t] ?? 0) * (segmentSlope[t] ?? 0), 0) / tokens.length;
      for (const t of tokens) if (hasSlope[t]) gradient[t] = (slopes[t] ?? 0) * (tokenSlope[t] ?? 0) + segmentGradient;
    }
    return gradient;
  }
}
