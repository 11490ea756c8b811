export interface LearningRateSchedule {
  shape: "constant" | "linear" | "cosine";
  /** Steps before the decay, in which the rate rises linearly. */
  warmUpSteps: number;
  /** Fraction of the rate that the decay approaches. */
  finalFraction: number;
  /**
   * Steps of the model that the schedule spans: all gradient steps of a job have the rate of the step that it starts
   * from. Absent: it spans the gradient steps of each job.
   */
  totalSteps?: number;
}

/**
 * Returns the factor of the learning rate at step `index` (from 0) of `steps`. With w steps of warm-up it is
 * `(index + 1) / (w + 1)` before step w. Then, with p = (index - w) / (steps - w), which is below 1 at the last step, and
 * the final fraction f:
 *
 * - `constant`: 1
 * - `linear`: f + (1 - f) * (1 - p)
 * - `cosine`: f + (1 - f) * (1 + cos(pi * p)) / 2
 *
 * At and after `steps` it is f, or 1 for `constant`. The decays are those of transformers' `linear` and `cosine` with f =
 * 0; its warm-up has index / w instead, in which the first step changes nothing.
 */
export function scheduleFactor(
  { shape, warmUpSteps, finalFraction }: LearningRateSchedule,
  index: number,
  steps: number,
): number {
  if (index < warmUpSteps) return (index + 1) / (warmUpSteps + 1);
  if (shape === "constant") return 1;
  const progress = steps > warmUpSteps ? Math.min(1, (index - warmUpSteps) / (steps - warmUpSteps)) : 1;
  const decay = shape === "linear" ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2;
  return finalFraction + (1 - finalFraction) * decay;
}
