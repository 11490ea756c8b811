import { rewardDeviation } from "../objective/group-advantages.js";

/** The part of a trajectory group that is measured. */
export interface MeasuredGroup {
  trajectories: { reward: number; metrics: Record<string, number | boolean> }[];
  /** Rollouts that ended in an error. */
  exceptions: unknown[];
  metrics: Record<string, number | boolean>;
}

/**
 * What a set of groups says about the policy that made them, without any prefix:
 *
 * - `reward`: mean over all trajectories; `reward_std_dev`: mean of the groups' population standard deviations (groups of
 *   more than one; 0 when there are none); `exception_rate`: exceptions / (trajectories + exceptions);
 * - each trajectory metric: its mean over the trajectories that have it, true counting 1;
 * - `group_<name>`: mean of a group metric over groups that have trajectories.
 *
 * What has nothing to be a mean of is left out. Our own names win over metrics of the same name.
 */
export function groupMetrics(groups: MeasuredGroup[]): Record<string, number> {
  const trajectories = groups.flatMap((group) => group.trajectories);
  const exceptions = groups.reduce((sum, group) => sum + group.exceptions.length, 0);
  const deviations = groups
    .filter((group) => group.trajectories.length > 1)
    .map((group) => rewardDeviation(group.trajectories.map(({ reward }) => reward)));
  const metrics = means(trajectories.map((trajectory) => trajectory.metrics));
  const ofGroups = means(groups.filter((group) => group.trajectories.length > 0).map((group) => group.metrics));
  for (const [name, value] of Object.entries(ofGroups)) metrics[`group_${name}`] = value;
  if (trajectories.length > 0) metrics["reward"] = mean(trajectories.map(({ reward }) => reward));
  if (trajectories.length + exceptions > 0) {
    metrics["exception_rate"] = exceptions / (trajectories.length + exceptions);
  }
  metrics["reward_std_dev"] = deviations.length > 0 ? mean(deviations) : 0;
  return metrics;
}

function means(records: Record<string, number | boolean>[]): Record<string, number> {
  const values = new Map<string, number[]>();
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) {
      const found = values.get(name);
      if (found) found.push(Number(value));
      else values.set(name, [Number(value)]);
    }
  }
  return Object.fromEntries([...values].map(([name, each]) => [name, mean(each)]));
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
