import { linkToProject } from "../project/project-link.js";

/** Fields of calls that have these values, as the address of the table has its conditions. */
const where = (fields: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(fields).map(([path, value]) => [path, "=", value]));

/** The calls that a checkpoint answered, as the service records them. */
export const callsAnswered = (projectId: string, modelId: string, step: number) => ({
  ...linkToProject(projectId),
  search: {
    where: where({ "attributes.heddle.model_id": modelId, "attributes.heddle.checkpoint_step": String(step) }),
  },
});

/** The calls that a job was made of: they have feedback that names it. */
export const callsOfJob = (projectId: string, jobId: string) => ({
  ...linkToProject(projectId),
  search: { where: where({ "feedback.[heddle.training_job].payload.job_id": jobId }) },
});
