import { readTrajectoryGroups, type TrajectoryGroup } from "../trajectories/groups.js";

/** Groups as they were submitted. That there are none is no mistake: a job of nothing still ends with a checkpoint. */
export function submittedGroups(value: unknown): TrajectoryGroup[] {
  return Array.isArray(value) && value.length === 0 ? [] : readTrajectoryGroups(value);
}
