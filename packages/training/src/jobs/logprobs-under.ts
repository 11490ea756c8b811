import type { TokenSequence, WeightsRef } from "../port.js";
import { closeQuietly } from "./gradient-loop.js";
import type { JobState } from "./job-state.js";
import { sequenceParts } from "./sequence-parts.js";
import type { TrainingJob } from "./training-job.js";
import { isToPause, paused } from "./training-job.js";

/**
 * Returns the log-probabilities of sequences under weights, computed once by a trainer of their own and saved in the
 * job's state by `name`.
 *
 * @param keep what is saved and returned of the log-probabilities of a sequence. Default: all of them.
 */
export async function logprobsUnder(
  weights: WeightsRef,
  sequences: readonly TokenSequence[],
  {
    job,
    state,
    name,
    keep = (logprobs) => logprobs,
  }: { job: TrainingJob; state: JobState; name: string; keep?: (logprobs: Float64Array) => Float64Array },
): Promise<Float64Array[]> {
  // A run that was paused has saved those of the first sequences.
  const computed = (await state.readArrays(name)) ?? [];
  if (computed.length === sequences.length) return computed;
  // A new adapter does not change the model, but its trainer needs less memory than one for all weights.
  const adapter = weights.checkpoint === undefined ? job.adapter : undefined;
  // Nothing is trained: of an earlier checkpoint, the state of the optimizer is not kept.
  const trainer = await job.engine.openTrainer({ weights, adapter, seed: job.seed, resetOptimizer: true }, job.signal);
  try {
    job.onReady?.();
    for (const part of sequenceParts(sequences.slice(computed.length))) {
      const logprobs = await trainer.logprobs(part, job.signal);
      computed.push(...logprobs.map(keep));
      const pauses = computed.length < sequences.length && isToPause(job);
      if (pauses || computed.length === sequences.length) await state.saveArrays(name, computed);
      if (pauses) throw paused();
    }
    return computed;
  } finally {
    await closeQuietly(trainer);
  }
}
