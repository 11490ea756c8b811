/** What the address of the training of a model says. */
export interface ModelSearch {
  /** Id of the job that is looked at; absent it is the newest. */
  job?: string;
}

/** What is not said well is left out. */
export const readModelSearch = ({ job }: Record<string, unknown>): ModelSearch =>
  typeof job === "string" && job !== "" ? { job: job.slice(0, 100) } : {};
