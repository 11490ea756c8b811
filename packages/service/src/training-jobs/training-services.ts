import type { BlobStore } from "@heddle/blob-store";
import type { ControlPlane } from "@heddle/control-plane";
import type { TrainingEngine } from "@heddle/training";
import type { CheckpointDirectories } from "../checkpoints/checkpoint-directories.js";
import type { Config } from "../config/config.js";

/** What training jobs use. */
export interface TrainingServices {
  config: Config;
  control: ControlPlane;
  blobs: BlobStore;
  training: TrainingEngine;
  checkpointDirectories: CheckpointDirectories;
}
