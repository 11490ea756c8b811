import type { WeightsRef } from "../port.js";
import type { TrajectoryGroup } from "../trajectories/groups.js";
import { readTrajectoryGroups } from "../trajectories/groups.js";
import { openBaseModel } from "./base-model.js";
import { runGradientSteps } from "./gradient-loop.js";
import type { TrainingJob, TrainingJobResult } from "./training-job.js";
import { policyPlan } from "./policy-plan.js";
import { rewardTrendFactor } from "./reward-trend.js";
import type { ReferencePolicy } from "./rl-config.js";
import { rlConfig } from "./rl-config.js";
import type { Rollouts } from "./rollouts.js";
import { readRollouts } from "./rollouts.js";
import { groupMetrics } from "./split-metrics.js";

export interface RlJob extends TrainingJob {
  /** Trajectory groups as they were submitted: any JSON value, checked here. */
  groups: unknown;
  /** `experimental_config` as it was submitted; absent or null: all defaults. */
  config?: unknown;
  /** Finds the weights that a KL penalty refers to; without it that can only be the base model. */
  referenceWeights?: (reference: ReferencePolicy) => Promise<WeightsRef>;
  /** How `train/reward_std_dev` has developed over the model's steps, for `scale_learning_rate_by_reward_std_dev`. */
  rewardDeviations?: { step: number; value: number }[];
}

/**
 * Trains weights on scored trajectories, from submitted JSON to a checkpoint. Groups without a difference in rewards teach
 * nothing; a job of only such groups ends with the weights that it began with. Everything is checked before the first event.
 *
 * @throws EngineError `invalid` with the path of a bad value, or when no log-probabilities came with the samples.
 */
export async function runRlJob(job: RlJob): Promise<TrainingJobResult> {
  const settings = rlConfig(job.config);
  const groups = readTrajectoryGroups(job.groups);
  const { info, template } = await openBaseModel(job.engine, job.from.baseModel);
  const read = await readRollouts(
    groups,
    settings.scaleRewards,
    {
      template,
      vocabularySize: info.vocabularySize,
      contextLength: info.contextLength,
      allowTrainingWithoutLogprobs: settings.allowTrainingWithoutLogprobs,
    },
    job.signal,
  );
  const plan = policyPlan({
    ...job,
    settings,
    rollouts: read.rollouts,
    learningRateFactor: settings.scaleLearningRateByRewardDeviation ? rewardTrendFactor(job.rewardDeviations ?? []) : 1,
    constants: jobMetrics(groups, read),
  });
  const reasons = Object.fromEntries([...read.reasons].map(([code, count]) => [`num_untrainable_${code}`, count]));
  Object.assign(
    plan.started,
    reasons,
    settings.unknownSettings.length > 0 && { unknown_settings: settings.unknownSettings },
  );
  Object.assign(plan.ended, reasons);
  return runGradientSteps(job, plan);
}

/** What is true of the whole job and told with every step. */
function jobMetrics(groups: TrajectoryGroup[], read: Rollouts): Record<string, number> {
  const trajectories = groups.flatMap((group) => group.trajectories);
  const metrics: Record<string, number> = {
    num_groups_submitted: groups.length,
    num_groups_trainable: read.trainableGroups,
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
