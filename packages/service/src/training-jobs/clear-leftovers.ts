import type { Config } from "../config/config.js";
import type { ControlPlane } from "@heddle/control-plane";
import type { CheckpointDirectories } from "../checkpoints/checkpoint-directories.js";
import { deleteOldRollouts } from "./keep-rollouts.js";
import { removeJobDirectories } from "./job-directory.js";

/** Removes what an earlier process left behind, and rollouts that are not kept any more. To be called before jobs run. */
export async function clearLeftovers({
  config,
  control,
  checkpointDirectories,
}: {
  config: Config;
  control: ControlPlane;
  checkpointDirectories: CheckpointDirectories;
}): Promise<void> {
  await removeJobDirectories(config.dataDir, async (id) => {
    const job = await control.trainingJobs.get(id);
    return job?.state === "queued" || job?.state === "running";
  });
  await deleteOldRollouts({ control, config });
  await checkpointDirectories.sweep({ drafts: true });
}
