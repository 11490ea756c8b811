import { HeddleError } from "@heddle/errors";
import { ComputingBudget } from "@heddle/threads";
import { splitProject } from "../access/project-id.js";
import { Computing } from "../computing/computing.js";
import type { Config } from "../config.js";

/** The computing of one job: in turns with that of the other projects, and within the budget of a job. */
export function jobComputing({ evaluationComputingMs: ms }: Config, projectId: string): Computing {
  const { entity = "" } = splitProject(projectId) ?? {};
  const message = `the templates and scorers of this job have computed for ${ms / 1000} s, which is all that one job may (HEDDLE_EVALUATION_COMPUTING)`;
  const budget = new ComputingBudget(ms, () => new HeddleError("too_large", message));
  return new Computing({ key: `jobs of ${projectId}`, entity }, budget);
}
