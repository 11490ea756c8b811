import { HeddleError } from "@heddle/errors";
import type { ControlPlane } from "@heddle/control-plane";

/**
 * Deletes the artifact versions of deleted checkpoints, of one model or of all. Those of a model with a job that waits or
 * runs are left for the end of the job, which may need them. May be repeated after a crash, and after an abort, which ends it
 * between two checkpoints.
 */
export async function purgeCheckpoints(
  { control }: { control: ControlPlane },
  modelId?: string,
  signal?: AbortSignal,
): Promise<void> {
  const { artifacts, trainingJobs, trainingModels } = control;
  const inUse = new Map<string, boolean>();
  for (const { id, model_id, artifact_version } of await trainingModels.checkpoints.toPurge(modelId)) {
    if (signal?.aborted) return;
    const isActive = inUse.get(model_id) ?? (await trainingJobs.hasActive(model_id));
    inUse.set(model_id, isActive);
    if (isActive) continue;
    const version = artifact_version === null ? undefined : await artifacts.byId(artifact_version);
    if (version !== undefined) {
      await artifacts.delete(version.project_id, version.collection, `v${version.index}`).catch(unlessMissing);
    }
    await trainingModels.checkpoints.markPurged(id);
  }
}

/** Purges what a crash left behind, until it is done or stopped. */
export function purgeLeftovers(
  stores: { control: ControlPlane },
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const purging = purgeCheckpoints(stores, undefined, stopping.signal).catch(onError);
  return {
    async stop() {
      stopping.abort();
      await purging;
    },
  };
}

/** Another request was faster. */
function unlessMissing(error: unknown): void {
  if (!(error instanceof HeddleError) || error.code !== "not_found") throw error;
}
