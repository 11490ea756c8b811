export interface Plan {
  steps: number;
  peak: number;
  warmUp: number;
  /** The last steps, in which the learning rate falls to zero. */
  decay: number;
}

/**
 * Learning rate of the step with this index, from 0: linear warm-up, constant, linear decay. The
 * number of steps can be chosen during the constant phase by resuming a run from its state.
 */
export function learningRate({ steps, peak, warmUp, decay }: Plan, index: number): number {
  return peak * Math.min(1, (index + 1) / warmUp, (steps - index) / decay);
}
