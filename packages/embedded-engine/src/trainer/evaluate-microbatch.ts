import type { MetricSums, Objective, TokenSequence } from "@heddle/training";
import { sequenceLoss } from "@heddle/training";
import type { Gradients } from "./gradients.js";
import type { Microbatch } from "./microbatches.js";
import { batchOf, headRowsOf, splitBySequence } from "./microbatches.js";
import type { HeadRows, Network } from "./network.js";

/**
 * Results per sequence of a microbatch, in its order. `losses` and `sums` are empty if only log-probabilities were
 * requested.
 */
export interface MicrobatchEvaluation {
  losses: number[];
  sums: MetricSums[];
  logprobs: Float64Array[];
  entropies?: Float64Array[];
}

/** Evaluates a microbatch and adds the gradient of its sequences to `gradients`. */
export async function evaluateMicrobatch(
  network: Network,
  objective: Objective,
  microbatch: Microbatch,
  gradients: Gradients,
  { entropy }: { entropy: boolean },
): Promise<MicrobatchEvaluation> {
  const { sequences, normalizer } = objective;
  const rows = headRowsOf(sequences, microbatch);
  const pass = await network.forward(batchOf(sequences, microbatch), {
    gradient: true,
    lowMemory: microbatch.lowMemory,
  });
  const losses = (logprobs: Float64Array[]) =>
    microbatch.indices.map((index, row) => sequenceLoss(objective, index, logprobs[row]!));
  // The gradient of cross-entropy does not depend on the log-probabilities, so the head need not run twice.
  const before =
    objective.name === "cross_entropy" && !entropy ? undefined : await network.score(pass, rows, { entropy });
  const assumed = before?.logprobs ?? new Float32Array(rows.positions.length);
  const assumedLosses = losses(splitBySequence(sequences, microbatch, assumed));
  const gradientOf = assumedLosses.map(({ gradient }) => gradient);
  const coefficients = coefficientsOf(sequences, microbatch, rows, gradientOf, normalizer);
  const { logprobs: computed } = await network.backward(pass, rows, coefficients, gradients);
  const logprobs = splitBySequence(sequences, microbatch, before?.logprobs ?? computed);
  const final = before ? assumedLosses : losses(logprobs);
  return {
    losses: final.map(({ loss }) => loss),
    sums: final.map(({ sums }) => sums),
    logprobs,
    ...(before?.entropies && { entropies: splitBySequence(sequences, microbatch, before.entropies) }),
  };
}

/** Returns the log-probabilities of the trained tokens of a microbatch. */
export async function scoreMicrobatch(
  network: Network,
  sequences: readonly TokenSequence[],
  microbatch: Microbatch,
): Promise<MicrobatchEvaluation> {
  const pass = await network.forward(batchOf(sequences, microbatch), {
    gradient: false,
    lowMemory: microbatch.lowMemory,
  });
  const { logprobs } = await network.score(pass, headRowsOf(sequences, microbatch), { entropy: false });
  return { losses: [], sums: [], logprobs: splitBySequence(sequences, microbatch, logprobs) };
}

function coefficientsOf(
  sequences: readonly TokenSequence[],
  { indices }: Microbatch,
  rows: HeadRows,
  gradients: Float64Array[],
  normalizer: number,
): Float32Array {
  const coefficients = new Float32Array(rows.positions.length);
  let next = 0;
  indices.forEach((index, row) => {
    const { mask } = sequences[index]!;
    for (let i = 1; i < mask.length; i++) if (mask[i]) coefficients[next++] = gradients[row]![i]! / normalizer;
  });
  return coefficients;
}
