import type { TrainingJob } from "@heddle/client/training";

export type JobStatus = TrainingJob["status"];

export const jobStatuses: readonly JobStatus[] = ["PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"];

/** What the address of the training of a project says. */
export interface TrainingSearch {
  /** Only jobs in this state. */
  status?: JobStatus;
  /** Id of the job under the cursor. */
  at?: string;
}

/** What is not said well is left out. */
export function readTrainingSearch({ status, at }: Record<string, unknown>): TrainingSearch {
  const known = jobStatuses.find((name) => name === status);
  return {
    ...(known !== undefined && { status: known }),
    ...(typeof at === "string" && at !== "" && { at: at.slice(0, 100) }),
  };
}

/** Whether a job can still change. */
export const isActive = ({ status }: Pick<TrainingJob, "status">): boolean =>
  status === "PENDING" || status === "RUNNING";
