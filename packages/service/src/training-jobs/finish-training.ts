import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { manifestDigest } from "@heddle/control-plane";
import type { BlobFile, CheckpointParity, ControlPlane, TrainingJobRecord, TrainingModel } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { newId } from "@heddle/trace-model";
import { storeContent } from "../artifacts/store-content.js";
import type { BlobStore } from "@heddle/blob-store";
import type { TrainingEngine } from "@heddle/training";
import type { CheckpointDirectories } from "../checkpoints/checkpoint-directories.js";
import { checkParity } from "./check-parity.js";

/** Trained weights that are to become a checkpoint. */
export interface TrainedWeights {
  job: TrainingJobRecord;
  model: TrainingModel;
  /** Directory of the weights and the state of the optimizer. */
  directory: string;
  /** Whether the job has changed nothing of the untrained base model. */
  isUntrained: boolean;
  /** What `probeTrainer` has returned for the weights. */
  probe: Float64Array | undefined;
  metrics: Record<string, number>;
  /** Data of `training_ended`. */
  ended: Readonly<Record<string, number>>;
  signal: AbortSignal;
  /** Called after each part of the work. Throws if the job is not to go on. */
  onProgress: () => void;
}

const optimizerFile = "optimizer.safetensors";

/**
 * Stores trained weights, checks that they are served as they were trained, and makes them the newest checkpoint of the
 * model, which ends the job. May be repeated after a crash. Throws `aborted` if the job has ended otherwise.
 */
export async function finishTraining(
  services: {
    control: ControlPlane;
    blobs: BlobStore;
    training: TrainingEngine;
    checkpointDirectories: CheckpointDirectories;
  },
  trained: TrainedWeights,
): Promise<void> {
  const { control, blobs, training, checkpointDirectories } = services;
  const { job, model, directory, isUntrained, probe, signal, onProgress } = trained;
  await control.trainingJobs.setPhase(job.id, "saving");
  const paths = await filesBelow(directory);
  const weightPaths = isUntrained ? [] : paths.filter((path) => path !== optimizerFile);
  const files: { path: string; sha256: string }[] = [];
  for (const path of weightPaths) {
    const { sha256 } = await storeContent(services, model.project_id, createReadStream(join(directory, path)));
    files.push({ path, sha256 });
    onProgress();
  }
  const optimizer: BlobFile[] = [];
  if (!isUntrained && paths.includes(optimizerFile)) {
    const { key } = await blobs.put(createReadStream(join(directory, optimizerFile)));
    optimizer.push({ path: optimizerFile, blob: key });
    onProgress();
  }
  const digest = manifestDigest(files);
  let parity: CheckpointParity | undefined;
  try {
    if (!isUntrained) {
      await control.trainingJobs.setPhase(job.id, "verifying");
      const checkpoint = await checkpointDirectories.adopt(directory, weightPaths, digest);
      parity = await checkParity(training, { baseModel: model.base_model, checkpoint }, { trained: probe, signal });
    }
    onProgress();
    const checkpoint = await control.trainingJobs.succeed(job.id, {
      checkpoint: { id: newId(), metrics: trained.metrics, ...(parity && { parity }) },
      weights: isUntrained ? null : { files, metadata: metadataOf(model) },
      optimizer_files: optimizer,
      data: trained.ended,
    });
    if (checkpoint === undefined) throw new HeddleError("aborted", "the job has ended");
  } finally {
    checkpointDirectories.release(digest);
  }
}

/** Key that clients read from the artifacts of trained models. */
function metadataOf({ base_model }: TrainingModel): string {
  return JSON.stringify({ "wandb.base_model": base_model });
}

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .toSorted();
}
