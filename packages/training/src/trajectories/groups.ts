import type { Loc } from "@heddle/errors";
import {
  finiteAt,
  listAt,
  invalidAt,
  objectAt,
  optionalIntegerAt,
  optionalListAt,
  optionalObjectAt,
} from "./field-checks.js";
import { rowFlag, trainFlag, trainFlags } from "./train-flags.js";

/** Trajectories of the same task, whose rewards are compared with each other. */
export interface TrajectoryGroup {
  /** Location in the list of groups, such as `[2]`. */
  loc: Loc;
  trajectories: Trajectory[];
  /** Number of rollouts that raised an exception. */
  exceptions: number;
  metrics: Record<string, number>;
  metadata: Record<string, unknown>;
}

export interface Trajectory {
  loc: Loc;
  reward: number;
  /** Metrics and `auto_metrics`. True is 1 and false 0. */
  metrics: Record<string, number>;
  metadata: Record<string, unknown>;
  initialPolicyVersion?: number;
  finalPolicyVersion?: number;
  /** The main history, then the additional ones. */
  histories: History[];
}

export interface History {
  /** Location in the list of groups: that of its trajectory, or of the item of `additional_histories`. */
  loc: Loc;
  /** Messages and complete choices of chat completions, not validated yet. */
  messagesAndChoices: unknown[];
  tools: unknown;
  /** Of each element, whether it or its trajectory says that it is trained or not. */
  flags?: readonly (boolean | undefined)[];
}

/**
 * Reads trajectory groups as clients send them. Unknown fields are ignored, and a reward that is missing is 0. Throws
 * `invalid`, with the location in `value`, for rewards and metrics that are not finite, for values of a wrong type, for
 * flags that mean nothing, and when no group has a trajectory or an exception.
 */
export function readTrajectoryGroups(value: unknown): TrajectoryGroup[] {
  const groups = listAt(value, []).map((group, index) => readGroup(group, [index]));
  if (groups.length > 0 && groups.every(isEmptyGroup)) {
    throw invalidAt([0, "trajectories"], "no group has a trajectory, and no exception says why");
  }
  return groups;
}

/** Whether a group has neither trajectories nor exceptions. It counts as submitted and changes nothing. */
export function isEmptyGroup({ trajectories, exceptions }: TrajectoryGroup): boolean {
  return trajectories.length === 0 && exceptions === 0;
}

function readGroup(value: unknown, loc: Loc): TrajectoryGroup {
  const group = objectAt(value, loc);
  const exceptions = optionalListAt(group["exceptions"], [...loc, "exceptions"]).length;
  const trajectories = listAt(group["trajectories"], [...loc, "trajectories"]);
  const flag = trainFlag(group, loc);
  return {
    loc,
    trajectories: trajectories.map((each, index) => readTrajectory(each, [...loc, "trajectories", index], flag)),
    exceptions,
    metrics: readMetrics(group["metrics"], [...loc, "metrics"]),
    metadata: optionalObjectAt(group["metadata"], [...loc, "metadata"]),
  };
}

/** @param around what the group says of whether it is trained. */
function readTrajectory(value: unknown, loc: Loc, around: boolean | undefined): Trajectory {
  const trajectory = objectAt(value, loc);
  const flag = rowFlag(trajectory, loc) ?? around;
  const others = optionalListAt(trajectory["additional_histories"], [...loc, "additional_histories"]);
  return {
    loc,
    reward: finiteAt(trajectory["reward"] ?? 0, [...loc, "reward"]),
    metrics: {
      ...readMetrics(trajectory["auto_metrics"], [...loc, "auto_metrics"]),
      ...readMetrics(trajectory["metrics"], [...loc, "metrics"]),
    },
    metadata: optionalObjectAt(trajectory["metadata"], [...loc, "metadata"]),
    initialPolicyVersion: optionalIntegerAt(trajectory["initial_policy_version"], [...loc, "initial_policy_version"]),
    finalPolicyVersion: optionalIntegerAt(trajectory["final_policy_version"], [...loc, "final_policy_version"]),
    histories: [
      readHistory(trajectory, loc, around),
      ...others.map((each, index) => readHistory(each, [...loc, "additional_histories", index], flag)),
    ],
  };
}

function readHistory(value: unknown, loc: Loc, around: boolean | undefined): History {
  const history = objectAt(value, loc);
  const elements = optionalListAt(history["messages_and_choices"], [...loc, "messages_and_choices"]);
  const flags = trainFlags(history, elements, { row: loc, messages: [...loc, "messages_and_choices"], around });
  return {
    loc,
    messagesAndChoices: elements,
    tools: history["tools"],
    ...(flags.some((flag) => flag !== undefined) && { flags }),
  };
}

function readMetrics(value: unknown, loc: Loc): Record<string, number> {
  const metrics = Object.entries(optionalObjectAt(value, loc));
  return Object.fromEntries(
    metrics.map(([name, each]) => [name, typeof each === "boolean" ? Number(each) : finiteAt(each, [...loc, name])]),
  );
}
