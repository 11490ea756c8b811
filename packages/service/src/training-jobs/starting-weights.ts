import { createReadStream } from "node:fs";
import { link, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Checkpoint, ControlPlane, TrainingJobRecord, TrainingModel } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { LoraConfig, ReferencePolicy, WeightsRef } from "@heddle/training";
import { writeDirectory } from "../artifacts/write-directory.js";
import { newAdapter } from "../models/model-adapter.js";
import type { JobDirectory } from "./job-directory.js";
import type { TrainingServices } from "./training-services.js";

/** What a job begins with. */
export interface StartingWeights {
  from: WeightsRef;
  /** Of a new adapter; undefined where the weights have one. */
  adapter?: LoraConfig;
  /** Whether the state of the optimizer is not continued. */
  resetOptimizer: boolean;
}

/** Prepares the checkpoint that a job begins with, and the state of the optimizer that belongs to it. */
export async function startingWeights(
  services: TrainingServices,
  { job, model, directory }: { job: TrainingJobRecord; model: TrainingModel; directory: JobDirectory },
): Promise<StartingWeights> {
  const baseModel = model.base_model;
  const checkpoint = await checkpointAt(services, model, job.from_step);
  const weights = await weightsOf(services, checkpoint);
  if (checkpoint === undefined || weights === undefined)
    return { from: { baseModel }, resetOptimizer: false, ...(await newAdapter(services, model)) };
  const previous = checkpoint.job_id === null ? undefined : await services.control.trainingJobs.get(checkpoint.job_id);
  // The moments of one objective would mislead the other.
  if (previous === undefined || objectiveOf(previous) !== objectiveOf(job))
    return { from: { baseModel, checkpoint: weights }, resetOptimizer: true };
  // A training server keeps the state of the optimizer itself.
  if (!previous.optimizer_files?.length) return { from: { baseModel, checkpoint: weights }, resetOptimizer: false };
  await withOptimizer(services, weights, previous.optimizer_files, directory.start);
  return { from: { baseModel, checkpoint: directory.start }, resetOptimizer: false };
}

/** Jobs with the same objective continue each other's state of the optimizer. */
function objectiveOf({ kind, config }: TrainingJobRecord): string {
  const { objective } = JSON.parse(config) as { objective?: string | null };
  return kind === "preference" ? `preference ${objective ?? "dpo"}` : kind;
}

/** Resolves the reference weights of a KL penalty. A step without weights of its own means the base model. */
export async function referenceWeights(
  services: TrainingServices,
  { job, model, directory }: { job: TrainingJobRecord; model: TrainingModel; directory: JobDirectory },
  { step, lag, adapterPath }: ReferencePolicy,
): Promise<WeightsRef> {
  const baseModel = model.base_model;
  if (adapterPath !== undefined) {
    const checkpoint = join(directory.root, "reference");
    const version = await services.control.artifacts.byId(adapterPath);
    if (version === undefined) {
      const loc = ["experimental_config", "kl_ref_adapter_path"];
      throw new HeddleError("not_found", "the artifact was deleted", { loc });
    }
    await rm(checkpoint, { recursive: true, force: true });
    await writeDirectory(services, version, checkpoint);
    return { baseModel, checkpoint };
  }
  const at = step ?? Math.max(0, (job.from_step ?? 0) - (lag ?? 0));
  const checkpoint = await checkpointAt(services, model, at);
  if (checkpoint === undefined && at > 0) {
    const loc = ["experimental_config", step === undefined ? "kl_penalty_step_lag" : "kl_penalty_reference_step"];
    throw new HeddleError("not_found", `the model has no checkpoint of step ${at}`, { loc });
  }
  const weights = await weightsOf(services, checkpoint);
  return { baseModel, ...(weights !== undefined && { checkpoint: weights }) };
}

async function checkpointAt(
  { control }: { control: ControlPlane },
  { id }: TrainingModel,
  step: number | null,
): Promise<Checkpoint | undefined> {
  return step === null ? undefined : await control.trainingModels.checkpoints.atStep(id, step, { deleted: true });
}

/** Directory of the weights; undefined for those of the base model. */
async function weightsOf(
  { checkpointDirectories }: TrainingServices,
  checkpoint: Checkpoint | undefined,
): Promise<string | undefined> {
  if (checkpoint === undefined || checkpoint.weights_digest === null) return undefined;
  return await checkpointDirectories.directoryOf(checkpoint);
}

/** Makes a directory of the files of a checkpoint and the state of the optimizer, unless an earlier attempt has. */
async function withOptimizer(
  { blobs }: TrainingServices,
  weights: string,
  optimizer: ReadonlyArray<{ path: string; blob: string }>,
  directory: string,
): Promise<void> {
  const draft = `${directory}.draft`;
  await rm(draft, { recursive: true, force: true });
  for (const entry of await readdir(weights, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const target = join(draft, path.slice(weights.length));
    await mkdir(dirname(target), { recursive: true });
    await link(path, target).catch(async () => await writeFrom(createReadStream(path), target));
  }
  for (const { path, blob } of optimizer) {
    const { stream } = await blobs.get(blob, { verify: true });
    await writeFrom(stream, join(draft, path));
  }
  await rm(directory, { recursive: true, force: true });
  await rename(draft, directory);
}

async function writeFrom(source: AsyncIterable<Uint8Array>, path: string): Promise<void> {
  const file = await open(path, "wx");
  await pipeline(source, file.createWriteStream());
}
