import { HeddleError, withLoc } from "@heddle/errors";
import type { WeightsRef } from "../port.js";
import type { TrajectoryGroup } from "../trajectories/groups.js";
import { isEmptyGroup, readTrajectoryGroups } from "../trajectories/groups.js";
import { openBaseModel } from "./base-model.js";
import type { BaseModelOf } from "./base-model.js";
import { runGradientSteps } from "./gradient-loop.js";
import type { TrainingJob, TrainingJobResult } from "./training-job.js";
import { policyPlan } from "./policy-plan.js";
import { rewardTrendFactor } from "./reward-trend.js";
import type { ReferencePolicy, RlConfig } from "./rl-config.js";
import { rlConfig } from "./rl-config.js";
import type { Rollouts, RolloutSummary } from "./rollouts.js";
import { readRollouts } from "./rollouts.js";
import { groupMetrics } from "./split-metrics.js";

export interface RlJob extends TrainingJob {
  /** Submitted trajectory groups: any JSON value, validated by the job. */
  groups: unknown;
  /** Submitted `experimental_config`. Absent or null: all defaults. */
  config?: unknown;
  /** Step of the weights that the job starts from. Choices that were sampled with it must have its log-probabilities. */
  fromStep?: number;
  /** Resolves the reference weights of a KL penalty. Absent: only the base model is supported. */
  referenceWeights?: (reference: ReferencePolicy) => Promise<WeightsRef>;
  /** History of `train/reward_std_dev` over the model's steps, for `scale_learning_rate_by_reward_std_dev`. */
  rewardDeviations?: { step: number; value: number }[];
  /**
   * Receives what is known of the trajectories when they are read, before the first event. Also called with those that
   * were read when the data are then found to be invalid. Each run of an interrupted job calls it.
   */
  onRollouts?: (rollouts: RolloutSummary[]) => Promise<void>;
}

/**
 * Trains weights on submitted trajectories and writes a checkpoint. Groups with equal rewards have no effect; a job
 * with only such groups writes its initial weights. All input is validated before the first event.
 *
 * @throws HeddleError `invalid` with the location of an invalid value, or if the samples have no log-probabilities.
 */
export async function runRlJob(job: RlJob): Promise<TrainingJobResult> {
  const settings = withLoc(["config"], () => rlConfig(job.config));
  const groups = withLoc(["groups"], () => readTrajectoryGroups(job.groups));
  const base = await openBaseModel(job);
  const { info, training } = base;
  const summaries: RolloutSummary[] = [];
  const onRollout = (rollout: RolloutSummary) => void summaries.push(rollout);
  const reading = readGroups(groups, settings, base, { signal: job.signal, onRollout, fromStep: job.fromStep });
  await Promise.allSettled([reading]);
  await job.onRollouts?.(summaries);
  const read = await reading;
  const plan = policyPlan({
    ...job,
    settings,
    vocabularySize: info.vocabularySize,
    rollouts: read.rollouts,
    learningRateFactor: settings.scaleLearningRateByRewardDeviation ? rewardTrendFactor(job.rewardDeviations ?? []) : 1,
    constants: jobMetrics(groups, read),
  });
  const reasons = Object.fromEntries([...read.reasons].map(([code, count]) => [`num_untrainable_${code}`, count]));
  Object.assign(
    plan.started,
    reasons,
    settings.unknownSettings.length > 0 && { unknown_settings: settings.unknownSettings },
    !training.gradientClipping && { ignored_settings: ["max_gradient_norm"] },
  );
  const warning = plan.trainedTokens === 0 ? { warning: untrainedWarning(groups, read) } : {};
  Object.assign(plan.started, warning);
  Object.assign(plan.ended, reasons, warning);
  return runGradientSteps(job, plan);
}

/**
 * What each trajectory of a job with these groups and settings would contribute, and why the job would fail. Throws `invalid`
 * for settings that are wrong.
 */
export async function previewRollouts({
  groups: given,
  config,
  fromStep,
  ...from
}: Pick<RlJob, "groups" | "config" | "fromStep"> & BaseModelOf): Promise<{
  rollouts: RolloutSummary[];
  error?: HeddleError;
}> {
  const settings = withLoc(["config"], () => rlConfig(config));
  const groups = withLoc(["groups"], () => readTrajectoryGroups(given));
  const rollouts: RolloutSummary[] = [];
  const onRollout = (rollout: RolloutSummary) => void rollouts.push(rollout);
  try {
    await readGroups(groups, settings, await openBaseModel(from), { signal: from.signal, onRollout, fromStep });
    return { rollouts };
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "invalid") throw error;
    return { rollouts, error };
  }
}

async function readGroups(
  groups: TrajectoryGroup[],
  settings: RlConfig,
  { info, maxSequenceTokens, template }: Awaited<ReturnType<typeof openBaseModel>>,
  { fromStep, ...run }: Parameters<typeof readRollouts>[3] & { fromStep?: number | undefined },
): Promise<Rollouts> {
  const options = {
    template,
    vocabularySize: info.vocabularySize,
    maxTokens: maxSequenceTokens,
    allowTrainingWithoutLogprobs: settings.allowTrainingWithoutLogprobs,
    withoutTruncated: settings.maskTruncatedCompletions,
    oldestStep: settings.maxPolicyLag === undefined ? undefined : (fromStep ?? 0) - settings.maxPolicyLag,
  };
  return await readRollouts(groups, settings, options, run);
}

function untrainedWarning(groups: readonly TrajectoryGroup[], { trainableGroups, reasons }: Rollouts): string {
  if (groups.length === 0) return "Nothing was trained: there are no groups.";
  const isAlone = groups.every(({ trajectories }) => trajectories.length < 2);
  if (trainableGroups === 0 && isAlone) {
    return "Nothing was trained: no group has two trajectories, and a reward is compared with the others of its group.";
  }
  if (trainableGroups === 0) return "Nothing was trained: the rewards of each group are equal.";
  const counts = [...reasons].map(([code, count]) => `${code}: ${count}`).join(", ");
  return `Nothing was trained: no trajectory with an advantage has tokens that can be trained (${counts}).`;
}

/** Metrics of the job that every step reports. */
function jobMetrics(groups: TrajectoryGroup[], read: Rollouts): Record<string, number> {
  const trajectories = groups.flatMap((group) => group.trajectories);
  const metrics: Record<string, number> = {
    num_groups_submitted: groups.length,
    num_groups_trainable: read.trainableGroups,
    num_groups_empty: groups.filter(isEmptyGroup).length,
    num_trajectories: trajectories.length,
    num_dropped_trajectories: read.droppedTrajectories,
  };
  const { builtIn, groupMeans } = groupMetrics(groups);
  Object.assign(metrics, builtIn);
  for (const [name, value] of Object.entries(groupMeans)) metrics[`group_metric_${name}`] = value;
  const lags = trajectories.flatMap(({ initialPolicyVersion, finalPolicyVersion }) =>
    initialPolicyVersion === undefined || finalPolicyVersion === undefined
      ? []
      : [finalPolicyVersion - initialPolicyVersion],
  );
  if (lags.length > 0) metrics["policy_lag"] = lags.reduce((sum, lag) => sum + lag, 0) / lags.length;
  return metrics;
}
