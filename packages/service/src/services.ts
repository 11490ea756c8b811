import type { BlobStore } from "@heddle/blob-store";
import type { Caller, ControlPlane } from "@heddle/control-plane";
import type { TraceStore } from "@heddle/trace-store";
import type { TrainingEngine } from "@heddle/training";
import type { CheckpointDirectories } from "./checkpoints/checkpoint-directories.js";
import type { Completions } from "./chat-completions/completions.js";
import type { JobQueue } from "./jobs/runner.js";
import type { ProjectDeletion } from "./operations/delete-projects.js";
import type { Config } from "./config/config.js";
import type { LossLog } from "./operations/losses/loss-log.js";
import type { Providers } from "./providers/providers.js";

/** What the handlers use. */
export interface Services {
  config: Config;
  control: ControlPlane;
  store: TraceStore;
  blobs: BlobStore;
  losses: LossLog;
  /** How many processes take requests of this installation; default: one. */
  replicas?: (() => number) | undefined;
  /** The model servers of others. */
  providers: Providers;
  /** Trains models and samples from them. */
  training: TrainingEngine;
  /** Local copies of the weights of checkpoints. */
  checkpointDirectories: CheckpointDirectories;
  /** Chat completions of the models of this service. */
  completions: Completions;
  /** Work that is done after the response. */
  jobs: JobQueue;
  /** Deletes projects with all that they have. */
  projectDeletion: ProjectDeletion;
  /** Of this package, as reported by /version and /server_info. */
  version: string;
}

export type { Caller };
