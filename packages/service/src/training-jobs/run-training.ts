import { createHash } from "node:crypto";
import type { ArtifactVersion, ControlPlane, TrainingJobRecord, TrainingModel } from "@heddle/control-plane";
import { HeddleError, mapErrors } from "@heddle/errors";
import { runPreferenceJob, runRlJob, runSftJob, splitMetrics } from "@heddle/training";
import type { TrainingJob, TrainingJobEvent, TrainingRow } from "@heddle/training";
import type { JobAttempt } from "../jobs/job-kind.js";
import type { TrainingServices } from "./training-services.js";
import { probeTrainer } from "./check-parity.js";
import { finishTraining } from "./finish-training.js";
import type { TrainedWeights } from "./finish-training.js";
import { jobDirectory, makeJobDirectory } from "./job-directory.js";
import type { JobDirectory } from "./job-directory.js";
import { keepRollouts } from "./keep-rollouts.js";
import { rankGroups } from "./rank-groups.js";
import { StallWatch } from "./stall-watch.js";
import { referenceWeights, startingWeights } from "./starting-weights.js";
import { readStoredGroups } from "./stored-trajectories.js";
import { readTrainingData } from "./training-data.js";

interface Run {
  services: TrainingServices;
  job: TrainingJobRecord;
  model: TrainingModel;
  directory: JobDirectory;
  attempt: JobAttempt;
  watch: StallWatch;
  signal: AbortSignal;
}

/** Trains and makes the checkpoint, from the state of an earlier attempt if there is one. */
export async function runTraining(
  services: TrainingServices,
  job: TrainingJobRecord,
  attempt: JobAttempt,
): Promise<void> {
  const model = await services.control.trainingModels.get(job.model_id);
  if (model === undefined) throw new HeddleError("not_found", "the model was deleted");
  const directory = jobDirectory(services.config.dataDir, job.id);
  await makeJobDirectory(directory);
  const watch = new StallWatch(services.config.trainingStallMs);
  const signal = AbortSignal.any([attempt.signal, watch.signal]);
  const run: Run = { services, job, model, directory, attempt, watch, signal };
  await watch.race(trainers[job.kind](run));
}

const trainers = { rl: trainOnTrajectories, sft: trainOnExamples, preference: trainOnPreferences };

async function trainOnTrajectories(run: Run): Promise<void> {
  const { services, job, model } = run;
  const stored = await readStoredGroups(services.blobs, job.data_blob ?? "");
  const { groups } = stored;
  await rankGroups(groups, { ...run, onProgress: () => run.watch.progress() });
  const metrics = splitMetrics({ trajectory_groups: groups, split: "train" });
  await runRlJob({
    ...(await commonInput(run, metrics)),
    groups,
    config: JSON.parse(job.config) as unknown,
    fromStep: job.from_step ?? 0,
    referenceWeights: async (reference) => await referenceWeights(services, run, reference),
    rewardDeviations: await rewardDeviations(services, model, job),
    onRollouts: async (rollouts) => await keepRollouts(services, job, stored, rollouts),
  });
}

async function trainOnExamples(run: Run): Promise<void> {
  const { services, job } = run;
  const rows = await readTrainingData(services, await dataOf(run));
  const config = JSON.parse(job.config) as Record<string, unknown>;
  const validationRows = await validationRowsOf(services, config);
  await runSftJob({ ...(await commonInput(run, {})), rows, config, ...(validationRows && { validationRows }) });
}

async function trainOnPreferences(run: Run): Promise<void> {
  const { services, job } = run;
  const rows = await readTrainingData(services, await dataOf(run), "preferences");
  const config: unknown = JSON.parse(job.config);
  await runPreferenceJob({ ...(await commonInput(run, {})), rows, config, fromStep: job.from_step ?? 0 });
}

async function dataOf({ services, job }: Run): Promise<ArtifactVersion> {
  const version = await services.control.artifacts.byId(job.data_source ?? "");
  if (version === undefined) throw new HeddleError("not_found", "the artifact with the training data was deleted");
  return version;
}

/** The rows that `validation_data_url` means, which is the id of the artifact version when the job is made. */
async function validationRowsOf(
  services: TrainingServices,
  { validation_data_url: id }: Record<string, unknown>,
): Promise<TrainingRow[] | undefined> {
  if (typeof id !== "string") return undefined;
  const version = await services.control.artifacts.byId(id);
  if (version === undefined) throw new HeddleError("not_found", "the artifact with the validation data was deleted");
  const asValidation = (error: HeddleError) => error.with({ message: `validation data, ${error.message}` });
  return await mapErrors(asValidation, async () => await readTrainingData(services, version, "validation"));
}

async function commonInput(run: Run, metrics: Record<string, number>): Promise<TrainingJob> {
  const { services, job, directory, signal } = run;
  const start = await startingWeights(services, run);
  const reported = await services.control.trainingJobs.events.reported(job.id);
  await services.control.trainingJobs.setPhase(job.id, "training");
  run.watch.progress();
  let probe: Float64Array | undefined;
  return {
    engine: services.training,
    ...start,
    directory: directory.result,
    workDirectory: directory.work,
    seed: seedOf(job),
    signal,
    sharer: run.attempt.sharer,
    reported,
    onReady: () => run.attempt.beginWork(),
    onProgress: () => run.watch.progress(),
    shouldPause: () => run.attempt.shouldYield,
    onTrained: async (trainer) => {
      probe = await probeTrainer(services.training, start.from, { trainer, signal });
    },
    onEvent: async (event) => {
      run.watch.progress();
      run.attempt.checkHeld();
      if (event.type !== "training_ended") return await report(run, event);
      const isUntrained = start.from.checkpoint === undefined && event.data["num_gradient_steps"] === 0;
      await finish(run, event.data, { metrics, isUntrained, probe });
    },
  };
}

async function report(
  { services, job, attempt }: Run,
  event: Exclude<TrainingJobEvent, { type: "training_ended" }>,
): Promise<void> {
  const { control } = services;
  const { type, data } = event;
  const stored =
    type === "training_started"
      ? { type, num_sequences: data.num_sequences, data: JSON.stringify(data), warnings: warningsOf(data["warning"]) }
      : { type, index: data["gradient_step"] ?? 0, data: JSON.stringify(data), warnings: warningsOf(event.warning) };
  if (!(await control.trainingJobs.events.add(job.id, stored))) throw new HeddleError("aborted", "the job has ended");
  if (type === "gradient_step") attempt.report({ completed: (data["gradient_step"] ?? 0) + 1, total: null });
}

function warningsOf(warning: unknown): string[] {
  return typeof warning === "string" ? [warning] : [];
}

async function finish(
  { services, job, model, directory, signal, watch, attempt }: Run,
  ended: Readonly<Record<string, number>>,
  { metrics, ...trained }: Pick<TrainedWeights, "metrics" | "isUntrained" | "probe">,
): Promise<void> {
  await finishTraining(services, {
    job,
    model,
    directory: directory.result,
    ...trained,
    metrics: { ...(await meanLoss(services, job)), ...validationMetrics(ended), ...metrics },
    ended,
    signal,
    onProgress: () => {
      watch.progress();
      attempt.checkHeld();
    },
  });
}

/** What the evaluations of the job have found. */
function validationMetrics(ended: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(ended).filter(([name]) => name.startsWith("val/")));
}

/** `train/loss`: the mean over the gradient steps, also those of earlier attempts. */
async function meanLoss(
  { control }: { control: ControlPlane },
  { id }: TrainingJobRecord,
): Promise<Record<string, number>> {
  const losses: number[] = [];
  for (let after: string | undefined; ;) {
    const page = await control.trainingJobs.events.page({
      job_id: id,
      limit: 1000,
      ...(after !== undefined && { after }),
    });
    for (const { type, data } of page) {
      const { loss } = JSON.parse(data) as { loss?: unknown };
      if (type === "gradient_step" && typeof loss === "number") losses.push(loss);
    }
    after = page.at(-1)?.id;
    if (page.length < 1000) break;
  }
  if (losses.length === 0) return {};
  return { "train/loss": losses.reduce((sum, loss) => sum + loss, 0) / losses.length };
}

/** The history of `train/reward_std_dev` up to the checkpoint that the job begins with. */
async function rewardDeviations(
  { control }: { control: ControlPlane },
  model: TrainingModel,
  job: TrainingJobRecord,
): Promise<{ step: number; value: number }[]> {
  const found: { step: number; value: number }[] = [];
  for (let after: string | undefined; ;) {
    const request = { limit: 1000, ...(after !== undefined && { after }) };
    const { checkpoints, has_more } = await control.trainingModels.checkpoints.page(model.id, request);
    for (const { step, metrics } of checkpoints) {
      const value = metrics["train/reward_std_dev"];
      if (value !== undefined && step <= (job.from_step ?? 0)) found.push({ step, value });
    }
    after = checkpoints.at(-1)?.id;
    if (!has_more) return found;
  }
}

/** The same on every attempt. */
function seedOf({ id }: TrainingJobRecord): number {
  return createHash("sha256").update(id).digest().readUInt32LE();
}
