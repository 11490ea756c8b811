/** Log-probabilities of one sequence; entries of untrained tokens are not read. */
export interface PenalisedSequence {
  mask: Uint8Array;
  advantages: Float64Array;
  /** Log-probabilities of the penalised policy: the old or the current one. */
  logprobs: Float64Array;
  reference: Float64Array;
}

/**
 * Applies a KL penalty to advantages: a trained token's advantage gains `coefficient * (mean(k) - k)`, where k =
 * logprob - reference and the mean is over the trained tokens of all given sequences (those of one optimizer step). The
 * changes sum to zero. Returns that mean, in nats.
 */
export function klPenalty(
  sequences: PenalisedSequence[],
  coefficient: number,
): { advantages: Float64Array[]; mean: number } {
  let sum = 0;
  let tokens = 0;
  for (const { mask, logprobs, reference } of sequences) {
    for (let t = 0; t < mask.length; t++) {
      if (!mask[t]) continue;
      sum += (logprobs[t] ?? 0) - (reference[t] ?? 0);
      tokens++;
    }
  }
  const mean = tokens > 0 ? sum / tokens : 0;
  const advantages = sequences.map(({ mask, advantages, logprobs, reference }) =>
    advantages.map((advantage, t) =>
      mask[t] ? advantage + coefficient * (mean - ((logprobs[t] ?? 0) - (reference[t] ?? 0))) : advantage,
    ),
  );
  return { advantages, mean };
}
