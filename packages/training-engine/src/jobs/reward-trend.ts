/**
 * Factor for the learning rate from how the spread of rewards has developed: the straight line of least squares through it,
 * its value at the last step over its value at step 0. 1 with fewer than two steps, or where the line starts at 0 or below;
 * never negative.
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
