import type { BlobStore } from "@heddle/blob-store";
import type { ControlPlane } from "@heddle/control-plane";
import type { JobQueue } from "../jobs/runner.js";
import type { ModelBackends } from "../runnable-objects/model-backends.js";
import type { TrajectoryConfig } from "../training-jobs/store-trajectories.js";

/** What makes training jobs of calls. */
export interface FromCallsServices extends ModelBackends {
  config: TrajectoryConfig;
  control: ControlPlane;
  blobs: BlobStore;
  jobs: JobQueue;
}
