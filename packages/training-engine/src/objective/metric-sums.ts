/** Sums over trained tokens: plain numbers, so that they cross a process border and add up over sequences. */
export type MetricSums = Record<string, number>;

export function addSums(into: MetricSums, from: MetricSums): void {
  for (const [name, value] of Object.entries(from)) into[name] = (into[name] ?? 0) + value;
}

/**
 * Means of the sums of all sequences of one objective. `trained_tokens` is a count; what cannot be computed (a
 * correlation of constants, a mean of nothing) is left out, so that every value is finite.
 *
 * `clip_fraction`: share of trained tokens whose ratio was capped, masked or clipped. `approx_kl`: mean of old - new
 * log-probability where the old one is known. `probs_corr`: correlation of the sampler's and the trainer's probabilities,
 * near 1 when both run the same weights. `importance_ratio_mean`, `_std`: of the ratio after cap and mask.
 */
export function finishMetrics(sums: MetricSums): Record<string, number> {
  const of = (name: string): number => sums[name] ?? 0;
  const tokens = of("trained_tokens");
  const metrics: Record<string, number> = { trained_tokens: tokens };
  if ("ratio" in sums && tokens > 0) {
    const ratio = of("ratio") / tokens;
    metrics["clip_fraction"] = of("clipped") / tokens;
    metrics["importance_ratio_mean"] = ratio;
    metrics["importance_ratio_std"] = Math.sqrt(Math.max(0, of("ratio_squared") / tokens - ratio * ratio));
  }
  if (of("known_old") > 0) metrics["approx_kl"] = of("old_minus_new") / of("known_old");
  const correlation = pearson(of("sampled"), {
    x: of("sampled_probability"),
    y: of("probability"),
    xx: of("sampled_probability_squared"),
    yy: of("probability_squared"),
    xy: of("probability_product"),
  });
  if (correlation !== undefined) metrics["probs_corr"] = correlation;
  return Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)));
}

/** Sums over the tokens of which the sampler's log-probability is known, for a correlation. */
export function probabilitySums() {
  return {
    sampled: 0,
    sampled_probability: 0,
    probability: 0,
    sampled_probability_squared: 0,
    probability_squared: 0,
    probability_product: 0,
  };
}

/** Adds one token, given its log-probabilities when it was sampled and now. */
export function addProbability(sums: ReturnType<typeof probabilitySums>, sampled: number, current: number): void {
  const x = Math.exp(sampled);
  const y = Math.exp(current);
  sums.sampled++;
  sums.sampled_probability += x;
  sums.probability += y;
  sums.sampled_probability_squared += x * x;
  sums.probability_squared += y * y;
  sums.probability_product += x * y;
}

function pearson(
  n: number,
  { x, y, xx, yy, xy }: { x: number; y: number; xx: number; yy: number; xy: number },
): number | undefined {
  if (n < 2) return undefined;
  const spreadX = xx - (x * x) / n;
  const spreadY = yy - (y * y) / n;
  // Below this the spread is rounding of sums of probabilities near 1, and so would be the correlation.
  if (spreadX <= 1e-13 * n || spreadY <= 1e-13 * n) return undefined;
  return Math.max(-1, Math.min(1, (xy - (x * y) / n) / Math.sqrt(spreadX * spreadY)));
}
