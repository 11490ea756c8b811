import {
  finiteAt,
  listAt,
  invalidAt,
  objectAt,
  optionalIntegerAt,
  optionalListAt,
  optionalObjectAt,
} from "./field-checks.js";

/** Trajectories of the same task, whose rewards are compared with each other. */
export interface TrajectoryGroup {
  /** Where it stands in what was given: `trajectory_groups.2`. */
  path: string;
  /** May be empty when all rollouts raised. */
  trajectories: Trajectory[];
  /** How many rollouts raised. */
  exceptions: number;
  metrics: Record<string, number>;
  metadata: Record<string, unknown>;
}

export interface Trajectory {
  path: string;
  reward: number;
  /** `auto_metrics` among them; true is 1. */
  metrics: Record<string, number>;
  metadata: Record<string, unknown>;
  initialPolicyVersion?: number;
  finalPolicyVersion?: number;
  /** The main history, then the additional ones. */
  histories: History[];
}

export interface History {
  /** `trajectory_groups.2.trajectories.0` or `….additional_histories.1`. */
  path: string;
  /** Messages and whole choices of chat completions, not looked at yet. */
  messagesAndChoices: unknown[];
  tools: unknown;
}

/**
 * Checks the shape of trajectory groups as clients send them; unknown fields are left alone. `invalid` with the place: rewards
 * and metrics that are not finite, things that are no lists, groups with neither trajectories nor exceptions.
 */
export function readTrajectoryGroups(value: unknown, path = "trajectory_groups"): TrajectoryGroup[] {
  return listAt(value, path).map((group, index) => readGroup(group, `${path}.${index}`));
}

function readGroup(value: unknown, path: string): TrajectoryGroup {
  const group = objectAt(value, path);
  const exceptions = optionalListAt(group["exceptions"], `${path}.exceptions`).length;
  const trajectories = listAt(group["trajectories"], `${path}.trajectories`);
  if (trajectories.length === 0 && exceptions === 0) {
    throw invalidAt(`${path}.trajectories`, "empty, and no exceptions say why");
  }
  return {
    path,
    trajectories: trajectories.map((each, index) => readTrajectory(each, `${path}.trajectories.${index}`)),
    exceptions,
    metrics: readMetrics(group["metrics"], `${path}.metrics`),
    metadata: optionalObjectAt(group["metadata"], `${path}.metadata`),
  };
}

function readTrajectory(value: unknown, path: string): Trajectory {
  const trajectory = objectAt(value, path);
  const others = optionalListAt(trajectory["additional_histories"], `${path}.additional_histories`);
  return {
    path,
    reward: finiteAt(trajectory["reward"], `${path}.reward`),
    metrics: {
      ...readMetrics(trajectory["auto_metrics"], `${path}.auto_metrics`),
      ...readMetrics(trajectory["metrics"], `${path}.metrics`),
    },
    metadata: optionalObjectAt(trajectory["metadata"], `${path}.metadata`),
    initialPolicyVersion: optionalIntegerAt(trajectory["initial_policy_version"], `${path}.initial_policy_version`),
    finalPolicyVersion: optionalIntegerAt(trajectory["final_policy_version"], `${path}.final_policy_version`),
    histories: [
      readHistory(trajectory, path),
      ...others.map((each, index) => readHistory(each, `${path}.additional_histories.${index}`)),
    ],
  };
}

function readHistory(value: unknown, path: string): History {
  const history = objectAt(value, path);
  const elements = optionalListAt(history["messages_and_choices"], `${path}.messages_and_choices`);
  return { path, messagesAndChoices: elements, tools: history["tools"] };
}

function readMetrics(value: unknown, path: string): Record<string, number> {
  const metrics = Object.entries(optionalObjectAt(value, path));
  return Object.fromEntries(
    metrics.map(([name, each]) => [name, typeof each === "boolean" ? Number(each) : finiteAt(each, `${path}.${name}`)]),
  );
}
