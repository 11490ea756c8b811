import type { BlobStore } from "@heddle/blob-store";
import type { ControlPlane } from "@heddle/control-plane";
import type { TraceStore } from "@heddle/trace-store";
import type { JobQueue } from "../jobs/runner.js";
import type { TrajectoryConfig } from "../training-jobs/store-trajectories.js";

/** What makes training jobs of calls. */
export interface FromCallsServices {
  config: TrajectoryConfig;
  control: ControlPlane;
  store: TraceStore;
  blobs: BlobStore;
  jobs: JobQueue;
}
