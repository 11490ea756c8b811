import { sequenceLoss } from "@heddle/training";
import type { Objective, PolicySequence, PolicySettings, TokenSequence } from "@heddle/training";
import type { Datum } from "./datum.js";
import { datumOf, predictions } from "./datum.js";
import type { GradientScale } from "../remote-model.js";

/** A loss of the wire with its data. */
export interface WireLoss {
  loss_fn: "cross_entropy" | "cispo" | "ppo";
  loss_fn_config?: Record<string, number>;
  data: Datum[];
}

/**
 * Returns the loss of the server that has the same gradient as the objective, or undefined if there is none and
 * `linearLoss` must be used. A server knows the ratio of single tokens, and no further terms.
 */
export function serverLoss(objective: Objective, scale: GradientScale): WireLoss | undefined {
  if (objective.name === "cross_entropy") {
    const coefficients = objective.sequences.map(({ mask, weights }) =>
      Float64Array.from(mask, (trained, t) => (trained ? (weights?.[t] ?? 1) / objective.normalizer : 0)),
    );
    return linearLoss(objective.sequences, coefficients, scale);
  }
  const { settings, sequences, normalizer } = objective;
  if (!isTokenLevel(settings) || !sequences.every(hasUsableOldLogprobs)) return undefined;
  const factors = scaleFactors(sequences, scale);
  return {
    loss_fn: settings.ppo ? "ppo" : "cispo",
    // Defaults differ between servers, so both bounds are always sent.
    loss_fn_config: clipBounds(1 - settings.epsilon, 1 + settings.epsilonHigh),
    data: sequences.map((sequence, index) => {
      const { mask, weights, advantages, oldLogprobs } = sequence;
      const factor = factors[index]! / normalizer;
      return datumOf(sequence, {
        logprobs: oldLogprobs.map((logprob, t) => (mask[t] ? logprob : 0)),
        advantages: advantages.map((advantage, t) => (mask[t] ? (weights[t] ?? 0) * advantage * factor : 0)),
      });
    }),
  };
}

/**
 * Returns the loss whose gradient is that of `-coefficient * logprob`, summed over all tokens. Coefficients may be
 * negative.
 */
export function linearLoss(sequences: TokenSequence[], coefficients: Float64Array[], scale: GradientScale): WireLoss {
  const factors = scaleFactors(sequences, scale);
  const scaled = coefficients.map((values, index) => values.map((value) => value * factors[index]!));
  if (scale === "sum") {
    return {
      loss_fn: "cross_entropy",
      data: sequences.map((each, index) => datumOf(each, { weights: scaled[index]! })),
    };
  }
  // Cross-entropy would divide by the sum of the coefficients. CISPO with both bounds at 1 multiplies the
  // log-probability by the advantage, whatever the ratio is, and divides by the number of predictions.
  return {
    loss_fn: "cispo",
    loss_fn_config: clipBounds(1, 1),
    data: sequences.map((each, index) =>
      datumOf(each, { logprobs: new Float64Array(each.tokens.length), advantages: scaled[index]! }),
    ),
  };
}

/** Returns dLoss/dlogprob of the objective by token, for `linearLoss`: the way to every loss that no server has. */
export function lossCoefficients(objective: Objective, logprobs: Float64Array[]): Float64Array[] {
  return objective.sequences.map((_, index) => {
    const { gradient } = sequenceLoss(objective, index, logprobs[index]!);
    return gradient.map((slope) => (slope === 0 ? 0 : -slope / objective.normalizer));
  });
}

/** Without weights, a server that divides by their sum divides by the number of predictions. */
function scaleFactors(sequences: TokenSequence[], scale: GradientScale): number[] {
  return sequences.map((sequence) => (scale === "sum" ? 1 : predictions(sequence) * sequences.length));
}

function clipBounds(low: number, high: number): Record<string, number> {
  return { clip_low_threshold: low, clip_high_threshold: high };
}

function isTokenLevel(settings: PolicySettings): boolean {
  return (
    settings.importanceSamplingLevel === "token" &&
    !settings.maskProbRatio &&
    !settings.k2Tau &&
    !settings.truncatedImportanceSampling &&
    !settings.klLoss &&
    !settings.maxNegativeAdvantageImportanceSamplingWeight
  );
}

/** Below this, the ratio could overflow the server's float32 numbers; `sequenceLoss` limits it. */
const minOldLogprob = -60;

function hasUsableOldLogprobs({ mask, oldLogprobs }: PolicySequence): boolean {
  return mask.every((trained, t) => !trained || (oldLogprobs[t] ?? NaN) > minOldLogprob);
}
