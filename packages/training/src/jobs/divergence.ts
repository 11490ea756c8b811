import { HeddleError } from "@heddle/errors";
import type { ForwardBackwardOutput } from "../port.js";

/** Notices that training has diverged, usually because the learning rate is too high. */
export interface DivergenceWatch {
  /**
   * Returns whether the weights before a step assign less probability to its tokens than a uniform distribution, after
   * an earlier step of the job had more.
   *
   * @param meanLogprob mean log-probability of the trained tokens; undefined for a step without any.
   * @throws HeddleError `failed`, with `details.reason` `divergence`, for a number that is not finite, or at the second
   *   such step in a row.
   */
  check(step: number, loss: number, meanLogprob: number | undefined): boolean;
  /** What later checks depend on. */
  readonly state: DivergenceState;
}

/** What a watch has noticed. JSON. */
export interface DivergenceState {
  /** Lowest mean loss of a step's tokens; null before the first step. */
  best: number | null;
  /** Diverged steps up to the last one. */
  inRow: number;
}

/** A batch may be harder than the one before; nats by which a diverged one is worse than the best. */
const margin = 0.5;

/**
 * @param vocabularySize default: no loss is too high, only numbers that are not finite are noticed.
 * @param earlier what was noticed before an interruption.
 */
export function divergenceWatch(vocabularySize = Infinity, earlier?: DivergenceState): DivergenceWatch {
  const uniform = Math.log(vocabularySize);
  let best = earlier?.best ?? Infinity;
  let inRow = earlier?.inRow ?? 0;
  return {
    get state() {
      return { best: best === Infinity ? null : best, inRow };
    },
    check(step, loss, meanLogprob) {
      if (!Number.isFinite(loss)) throw diverged(step, `the loss is ${loss}`);
      if (meanLogprob === undefined) return false;
      const surprise = -meanLogprob;
      const isDiverged = surprise >= uniform && surprise > best + margin;
      inRow = isDiverged ? inRow + 1 : 0;
      best = Math.min(best, surprise);
      if (inRow > 1) {
        const limit = `ln(${vocabularySize}) = ${uniform.toFixed(2)}`;
        throw diverged(step, `the mean loss of its tokens is ${surprise.toFixed(2)}, above ${limit} of random guesses`);
      }
      return isDiverged;
    },
  };
}

function diverged(step: number, what: string): HeddleError {
  return new HeddleError("failed", `Training diverged: at gradient step ${step}, ${what}. Lower the learning rate.`, {
    details: { reason: "divergence", gradient_step: step },
  });
}

/** Returns the mean of the log-probabilities that a step has computed; undefined if there are none. */
export function meanLogprobOf({ logprobs }: ForwardBackwardOutput): number | undefined {
  let [sum, count] = [0, 0];
  for (const values of logprobs) {
    for (const value of values) {
      if (Number.isNaN(value)) continue;
      sum += value;
      count++;
    }
  }
  return count === 0 ? undefined : sum / count;
}
