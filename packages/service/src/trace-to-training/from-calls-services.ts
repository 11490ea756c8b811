import type { BlobStore } from "@heddle/blob-store";
import type { ControlPlane } from "@heddle/control-plane";
import type { TraceStore } from "@heddle/trace-store";
import type { Config } from "../config/config.js";
import type { JobQueue } from "../jobs/runner.js";

/** What makes training jobs of calls. */
export interface FromCallsServices {
  config: Pick<Config, "limits">;
  control: ControlPlane;
  store: TraceStore;
  blobs: BlobStore;
  jobs: JobQueue;
}
