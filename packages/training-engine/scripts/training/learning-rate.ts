export interface Plan {
  steps: number;
  peak: number;
  warmUp: number;
  /** The last steps, in which the learning rate falls to nothing. */
  decay: number;
}

/**
 * Learning rate of the step with this index, from 0: up in a straight line, level, down in a straight line. As long as it is
 * level the number of steps can still be chosen: a run that is to end goes on from its state with the steps it is to have.
 */
export function learningRate({ steps, peak, warmUp, decay }: Plan, index: number): number {
  return peak * Math.min(1, (index + 1) / warmUp, (steps - index) / decay);
}
