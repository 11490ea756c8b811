import type { BlobStore } from "@heddle/blob-store";
import type { ModelBackends } from "../runnable-objects/model-backends.js";
import type { ControlPlane } from "@heddle/control-plane";
import type { TrainingEngine } from "@heddle/training";
import type { CheckpointDirectories } from "../checkpoints/checkpoint-directories.js";
import type { Config } from "../config/config.js";

/** What training jobs use. */
export interface TrainingServices extends ModelBackends {
  config: Config;
  control: ControlPlane;
  blobs: BlobStore;
  training: TrainingEngine;
  checkpointDirectories: CheckpointDirectories;
}
