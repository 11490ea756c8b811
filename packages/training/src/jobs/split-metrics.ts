import { withLoc } from "@heddle/errors";
import { rewardDeviation } from "../objective/group-advantages.js";
import type { TrajectoryGroup } from "../trajectories/groups.js";
import { readTrajectoryGroups } from "../trajectories/groups.js";

export interface GroupMetrics {
  /**
   * `reward`: mean over all trajectories; `reward_std_dev`: mean of the groups' population standard deviations (groups
   * of more than one; 0 when there are none); `exception_rate`: exceptions / (trajectories + exceptions).
   */
  builtIn: Record<string, number>;
  /** Mean of each trajectory metric over the trajectories that have it. */
  trajectoryMeans: Record<string, number>;
  /** Mean of each group metric over the groups that have it and have trajectories. */
  groupMeans: Record<string, number>;
}

/** Computes the metrics of trajectory groups. Means over nothing are omitted. */
export function groupMetrics(groups: TrajectoryGroup[]): GroupMetrics {
  const trajectories = groups.flatMap((group) => group.trajectories);
  const exceptions = groups.reduce((sum, group) => sum + group.exceptions, 0);
  const deviations = groups
    .filter((group) => group.trajectories.length > 1)
    .map((group) => rewardDeviation(group.trajectories.map(({ reward }) => reward)));
  const builtIn: Record<string, number> = { reward_std_dev: deviations.length > 0 ? mean(deviations) : 0 };
  if (trajectories.length > 0) builtIn["reward"] = mean(trajectories.map(({ reward }) => reward));
  if (trajectories.length + exceptions > 0) builtIn["exception_rate"] = exceptions / (trajectories.length + exceptions);
  return {
    builtIn,
    trajectoryMeans: means(trajectories.map(({ metrics }) => metrics)),
    groupMeans: means(groups.filter((group) => group.trajectories.length > 0).map(({ metrics }) => metrics)),
  };
}

export interface SubmittedGroups {
  /** The trajectory groups, as any JSON value. */
  trajectory_groups: unknown;
  /** What the trajectories were made for, such as `val`. */
  split: string;
}

/**
 * Computes the metrics of submitted groups, named for their split: `<split>/reward`, `<split>/<metric>`,
 * `<split>/group_<metric>`. Built-in metrics take precedence over submitted ones of the same name. Throws `invalid` with
 * the location of an invalid value.
 */
export function splitMetrics({ trajectory_groups, split }: SubmittedGroups): Record<string, number> {
  const { builtIn, trajectoryMeans, groupMeans } = groupMetrics(
    withLoc(["trajectory_groups"], () => readTrajectoryGroups(trajectory_groups)),
  );
  const prefixed = Object.entries(groupMeans).map(([name, value]) => [`group_${name}`, value] as const);
  return Object.fromEntries(
    [...Object.entries(trajectoryMeans), ...prefixed, ...Object.entries(builtIn)].map(([name, value]) => [
      `${split}/${name}`,
      value,
    ]),
  );
}

function means(records: Record<string, number>[]): Record<string, number> {
  const values = new Map<string, number[]>();
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) {
      const found = values.get(name);
      if (found) found.push(value);
      else values.set(name, [value]);
    }
  }
  return Object.fromEntries([...values].map(([name, each]) => [name, mean(each)]));
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
