import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { ifExists } from "@heddle/durable-files";

/** Where a training job keeps its files while it runs. */
export interface JobDirectory {
  root: string;
  /** State from which it resumes. */
  work: string;
  /** The trained weights, when they are complete. */
  result: string;
  /** The weights that it begins with, together with the state of the optimizer. */
  start: string;
}

export function jobDirectory(dataDir: string, jobId: string): JobDirectory {
  const root = join(dataDir, "training", "jobs", jobId);
  return { root, work: join(root, "work"), result: join(root, "result"), start: join(root, "start") };
}

export async function makeJobDirectory({ root }: JobDirectory): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o700 });
}

export async function removeJobDirectory(dataDir: string, jobId: string): Promise<void> {
  await rm(jobDirectory(dataDir, jobId).root, { recursive: true, force: true });
}

/** Removes the directories of all jobs but those that are still to be done. */
export async function removeJobDirectories(
  dataDir: string,
  isActive: (jobId: string) => Promise<boolean>,
): Promise<void> {
  for (const id of (await ifExists(readdir(join(dataDir, "training", "jobs")))) ?? []) {
    if (!(await isActive(id))) await removeJobDirectory(dataDir, id);
  }
}
