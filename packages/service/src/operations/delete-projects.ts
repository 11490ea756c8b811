import { setTimeout as delay } from "node:timers/promises";
import { mutex } from "@heddle/concurrency";
import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { TraceStore } from "@heddle/trace-store";
import type { CheckpointDirectories } from "../checkpoints/checkpoint-directories.js";
import type { JobQueue } from "../jobs/runner.js";
import { deleteModel } from "../checkpoints/delete-model.js";

interface Stores {
  control: ControlPlane;
  store: TraceStore;
  jobs: JobQueue;
  checkpointDirectories: CheckpointDirectories;
  /** Called when a project is gone. */
  onDeleted?: (projectId: string) => Promise<void>;
}

/** How long jobs of the project get to end. */
const jobsEndMs = 30_000;
const retryMs = 30_000;

/** Deletes projects, one after the other, and goes on with what an earlier process has begun. */
export class ProjectDeletion {
  readonly #stores: Stores;
  readonly #onError: (error: unknown) => void;
  /** By project; a request for one that is being deleted waits for it. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #oneByOne = mutex();
  #timer: NodeJS.Timeout | undefined;
  readonly #stopping = new AbortController();

  constructor(stores: Stores, onError: (error: unknown) => void) {
    this.#stores = stores;
    this.#onError = onError;
  }

  /**
   * Resolves when nothing of the project is left but the bytes of its files, which the collection of blobs deletes. When it
   * rejects, the deletion is tried again later, and the project cannot be used until then.
   */
  async delete(projectId: string, userId: string): Promise<void> {
    await this.#stores.control.projectDeletions.begin(projectId, userId);
    await this.#run(projectId);
  }

  /** Goes on with the deletions that are not finished, now and whenever one has failed. */
  resume(): void {
    this.#resumeAll().catch((error: unknown) => {
      this.#onError(error);
      this.#retryLater();
    });
  }

  /** Leaves what is not finished to the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await Promise.allSettled(this.#running.values());
  }

  async #resumeAll(): Promise<void> {
    for (const projectId of await this.#stores.control.projectDeletions.list())
      if (!this.#stopping.signal.aborted) await this.#run(projectId);
  }

  #retryLater(): void {
    clearTimeout(this.#timer);
    if (!this.#stopping.signal.aborted) this.#timer = setTimeout(() => this.resume(), retryMs).unref();
  }

  async #run(projectId: string): Promise<void> {
    const running = this.#running.get(projectId);
    if (running !== undefined) return await running;
    const work = this.#oneByOne(async () => await deleteProject(this.#stores, projectId, this.#stopping.signal));
    work.catch(() => this.#retryLater());
    this.#running.set(projectId, work);
    await work.finally(() => this.#running.delete(projectId));
  }
}

/** May be repeated after a crash at any point. */
async function deleteProject(stores: Stores, projectId: string, stopping: AbortSignal): Promise<void> {
  const { control, store, jobs, checkpointDirectories } = stores;
  const { projectDeletions, trainingModels } = control;
  await endJobs(stores, projectId, stopping);
  for (;;) {
    const { models } = await trainingModels.list(projectId, { limit: 100 });
    if (models.length === 0) break;
    for (const model of models) await deleteModel({ control, jobs }, model).catch(unlessMissing);
  }
  // Jobs that end read the rows of their models.
  await endJobs(stores, projectId, stopping);
  await store.deleteProject(projectId);
  // By the rows of checkpoints it knows what a training server keeps of them.
  await checkpointDirectories.sweep();
  await projectDeletions.finish(projectId);
  await stores.onDeleted?.(projectId);
}

async function endJobs({ control, jobs }: Stores, projectId: string, stopping: AbortSignal): Promise<void> {
  const began = performance.now();
  for (;;) {
    const active = await control.projectDeletions.activeJobs(projectId);
    if (active.length === 0) return;
    if (performance.now() - began > jobsEndMs)
      throw new HeddleError("busy", `jobs of ${projectId} still run; its deletion goes on when they have ended`);
    if (stopping.aborted) throw new HeddleError("busy", `the deletion of ${projectId} goes on after the next start`);
    await jobs.cancel(projectId, active);
    await delay(50);
  }
}

/** Another request was faster. */
function unlessMissing(error: unknown): void {
  if (!(error instanceof HeddleError) || error.code !== "not_found") throw error;
}
