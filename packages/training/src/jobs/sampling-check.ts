import { HeddleError } from "@heddle/errors";
import type { ForwardBackwardOutput } from "../port.js";

/**
 * Mean absolute differences of log-probabilities, in nats. Samplers in bfloat16 differ from trainers by 0.01 to 0.05; a
 * prompt that is not the one of the sampler makes differences of more than 0.1, other weights of more than 1.
 */
const suspiciousDifference = 0.1;
const mostDifference = 1;

/**
 * Compares the log-probabilities that were sampled with those that the same weights have in training, which are the first
 * step's. Undefined stands for a sequence that other weights have sampled. Returns the mean absolute difference, NaN without
 * a token to compare, and a warning if it is too large.
 *
 * @throws HeddleError `failed`, with `details.reason` `sampling_mismatch`, if they have nothing to do with each other.
 */
export function checkSampling(
  sampled: readonly (Float64Array | undefined)[],
  { logprobs }: Pick<ForwardBackwardOutput, "logprobs">,
): { difference: number; warning?: string } {
  let [sum, tokens] = [0, 0];
  for (const [at, known] of sampled.entries()) {
    for (const [t, logprob] of (known ?? []).entries()) {
      const distance = Math.abs(logprob - (logprobs[at]?.[t] ?? NaN));
      if (Number.isNaN(distance)) continue;
      sum += distance;
      tokens++;
    }
  }
  const difference = sum / tokens;
  if (tokens === 0 || difference <= suspiciousDifference) return { difference };
  const found = `The log-probabilities of ${tokens} sampled tokens differ by ${difference.toFixed(3)} on average (logprob_difference) from those that the same weights have in training`;
  const remedy =
    "Send the choices as the endpoint returned them, with prompt_token_ids and logprobs, of requests without structured outputs and logit_bias.";
  if (difference <= mostDifference)
    return { difference, warning: `${found}; at most ${suspiciousDifference} is expected. ${remedy}` };
  throw new HeddleError("failed", `${found}; at most ${mostDifference} is accepted. ${remedy}`, {
    details: { reason: "sampling_mismatch" },
  });
}
