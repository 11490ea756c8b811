import { HeddleError } from "@heddle/errors";
import type { WeightsRef } from "../port.js";
import type { JobState } from "./job-state.js";
import type { PlannedSequence, PolicyJob } from "./policy-job.js";
import { logprobsUnder } from "./logprobs-under.js";

/**
 * Adds the log-probabilities of other weights to the sequences. With `precalculate_logprobs`, the job's initial weights
 * replace the old policy, whose log-probabilities become the rollout log-probabilities. A KL penalty and a KL loss get
 * their reference. Each is computed once, by a trainer that is closed before the next opens, and saved in the job's
 * state.
 */
export async function scoredSequences(
  job: PolicyJob,
  planned: PlannedSequence[],
  state: JobState,
): Promise<PlannedSequence[]> {
  const { precalculateLogprobs, klPenalty, klLoss } = job.settings;
  const sequences = planned.map(({ sequence }) => sequence);
  let scored = planned;
  if (precalculateLogprobs) {
    const first = await logprobsUnder(job.from, sequences, { job, state, name: "first-logprobs" });
    scored = scored.map(({ sequence, ...rest }, at) => ({
      ...rest,
      sequence: {
        ...sequence,
        oldLogprobs: first[at] ?? sequence.oldLogprobs,
        rolloutLogprobs: sequence.oldLogprobs,
      },
    }));
  }
  if (klPenalty || klLoss) {
    const weights = await referenceWeights(job);
    const reference = await logprobsUnder(weights, sequences, { job, state, name: "reference-logprobs" });
    scored = scored.map(({ sequence, ...rest }, at) => ({
      ...rest,
      reference: reference[at],
      sequence: klLoss ? { ...sequence, referenceLogprobs: reference[at] } : sequence,
    }));
  }
  return scored;
}

async function referenceWeights(job: PolicyJob): Promise<WeightsRef> {
  const reference = (job.settings.klPenalty ?? job.settings.klLoss)?.reference ?? {};
  const names = [
    reference.step !== undefined && "kl_penalty_reference_step",
    reference.lag !== undefined && "kl_penalty_step_lag",
    reference.adapterPath !== undefined && "kl_ref_adapter_path",
  ];
  const asked = names.find((name) => name !== false);
  if (asked === undefined) return { baseModel: job.from.baseModel };
  if (job.referenceWeights) return job.referenceWeights(reference);
  const message = `${asked} refers to earlier weights, and there are none.`;
  throw new HeddleError("unsupported", message, { loc: ["config", asked] });
}
