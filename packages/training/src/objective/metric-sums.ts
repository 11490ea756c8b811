/** Sums over trained tokens by name, which can be sent between processes and added over sequences. */
export type MetricSums = Record<string, number>;

export function addSums(into: MetricSums, from: MetricSums): void {
  for (const [name, value] of Object.entries(from)) into[name] = (into[name] ?? 0) + value;
}

/**
 * Computes metrics from the sums of all sequences of an objective. `trained_tokens` is a count. A metric that is
 * undefined (a correlation of constants, a mean of nothing) is omitted, so every value is finite.
 *
 * `clip_fraction`: fraction of trained tokens whose ratio was capped, masked or clipped. `approx_kl`: mean of old - new
 * log-probability where the old one is known. `probs_corr`: correlation of the probabilities of sampler and trainer,
 * near 1 if both use the same weights. `importance_ratio_mean`, `_std`: of the ratio after cap and mask. `kl_loss`: mean
 * estimate of the KL loss, before its coefficient.
 */
export function finishMetrics(sums: MetricSums): Record<string, number> {
  const of = (name: string): number => sums[name] ?? 0;
  const tokens = of("trainedTokens");
  const metrics: Record<string, number> = { trained_tokens: tokens };
  if ("ratio" in sums && tokens > 0) {
    const ratio = of("ratio") / tokens;
    metrics["clip_fraction"] = of("clipped") / tokens;
    metrics["importance_ratio_mean"] = ratio;
    metrics["importance_ratio_std"] = Math.sqrt(Math.max(0, of("ratioSquared") / tokens - ratio * ratio));
  }
  if ("klLoss" in sums && tokens > 0) metrics["kl_loss"] = of("klLoss") / tokens;
  if (of("knownOld") > 0) metrics["approx_kl"] = of("oldMinusNew") / of("knownOld");
  const correlation = pearson(of("sampled"), {
    x: of("sampledProbability"),
    y: of("probability"),
    xx: of("sampledProbabilitySquared"),
    yy: of("probabilitySquared"),
    xy: of("probabilityProduct"),
  });
  if (correlation !== undefined) metrics["probs_corr"] = correlation;
  return Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)));
}

/** Creates zero sums for the correlation over the tokens whose log-probability the sampler reported. */
export function probabilitySums() {
  return {
    sampled: 0,
    sampledProbability: 0,
    probability: 0,
    sampledProbabilitySquared: 0,
    probabilitySquared: 0,
    probabilityProduct: 0,
  };
}

/** Adds one token, given its log-probability when sampled and the current one. */
export function addProbability(sums: ReturnType<typeof probabilitySums>, sampled: number, current: number): void {
  const x = Math.exp(sampled);
  const y = Math.exp(current);
  sums.sampled++;
  sums.sampledProbability += x;
  sums.probability += y;
  sums.sampledProbabilitySquared += x * x;
  sums.probabilitySquared += y * y;
  sums.probabilityProduct += x * y;
}

function pearson(
  n: number,
  { x, y, xx, yy, xy }: { x: number; y: number; xx: number; yy: number; xy: number },
): number | undefined {
  if (n < 2) return undefined;
  const spreadX = xx - (x * x) / n;
  const spreadY = yy - (y * y) / n;
  // Below this limit, the variance and the correlation are rounding errors of probabilities near 1.
  if (spreadX <= 1e-13 * n || spreadY <= 1e-13 * n) return undefined;
  return Math.max(-1, Math.min(1, (xy - (x * y) / n) / Math.sqrt(spreadX * spreadY)));
}
