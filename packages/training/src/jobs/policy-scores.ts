import { HeddleError } from "@heddle/errors";
import type { WeightsRef } from "../port.js";
import { closeQuietly } from "./gradient-loop.js";
import type { JobState } from "./job-state.js";
import type { PlannedSequence, PolicyJob } from "./policy-job.js";
import { sequenceParts } from "./sequence-parts.js";
import { isToPause, paused } from "./training-job.js";

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
  let scored = planned;
  if (precalculateLogprobs) {
    const first = await scores(job, planned, job.from, "first-logprobs", state);
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
    const reference = await scores(job, planned, await referenceWeights(job), "reference-logprobs", state);
    scored = scored.map(({ sequence, ...rest }, at) => ({
      ...rest,
      reference: reference[at],
      sequence: klLoss ? { ...sequence, referenceLogprobs: reference[at] } : sequence,
    }));
  }
  return scored;
}

async function scores(
  job: PolicyJob,
  planned: PlannedSequence[],
  weights: WeightsRef,
  name: string,
  state: JobState,
): Promise<Float64Array[]> {
  // A run that was paused has saved those of the first sequences.
  const computed = (await state.readArrays(name)) ?? [];
  if (computed.length === planned.length) return computed;
  // A new adapter does not change the model, but its trainer needs less memory than one for all weights.
  const adapter = weights.checkpoint === undefined ? job.adapter : undefined;
  const trainer = await job.engine.openTrainer({ weights, adapter, seed: job.seed }, job.signal);
  try {
    job.onReady?.();
    const rest = planned.slice(computed.length).map(({ sequence }) => sequence);
    for (const part of sequenceParts(rest)) {
      computed.push(...(await trainer.logprobs(part, job.signal)));
      const pauses = computed.length < planned.length && isToPause(job);
      if (pauses || computed.length === planned.length) await state.saveArrays(name, computed);
      if (pauses) throw paused();
    }
    return computed;
  } finally {
    await closeQuietly(trainer);
  }
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
