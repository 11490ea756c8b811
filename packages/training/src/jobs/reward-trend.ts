/**
 * Returns a learning rate factor from the trend of the reward deviation: the value of its least-squares line at the
 * last step, divided by its value at step 0. Returns 1 with fewer than two steps, or if the line starts at or below 0.
 * Never negative.
 */
export function rewardTrendFactor(deviations: { step: number; value: number }[]): number {
  const n = deviations.length;
  const last = deviations.at(-1);
  if (n < 2 || !last) return 1;
  const meanStep = deviations.reduce((sum, { step }) => sum + step, 0) / n;
  const meanValue = deviations.reduce((sum, { value }) => sum + value, 0) / n;
  const spread = deviations.reduce((sum, { step }) => sum + (step - meanStep) ** 2, 0);
  if (spread === 0) return 1;
  const slope = deviations.reduce((sum, { step, value }) => sum + (step - meanStep) * (value - meanValue), 0) / spread;
  const intercept = meanValue - slope * meanStep;
  if (!(intercept > 0)) return 1;
  return Math.max(0, (intercept + slope * last.step) / intercept);
}
