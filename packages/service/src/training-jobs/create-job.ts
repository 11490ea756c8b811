import { createHash } from "node:crypto";
import type { ArtifactVersion, Caller, ControlPlane, TrainingJobRecord, TrainingModel } from "@heddle/control-plane";
import { HeddleError, mapErrors } from "@heddle/errors";
import { newId } from "@heddle/trace-model";
import { preferenceConfig, rlConfig, sftConfig } from "@heddle/training";
import { resolveArtifact } from "../artifacts/artifact-uri.js";
import { referencedObject, versionRef } from "../objects/referenced-object.js";
import { loadRanking } from "../runnable-objects/load-scorer.js";
import type { ModelBackends } from "../runnable-objects/model-backends.js";
import { trainingKinds, trainingPool } from "./train.js";
import type { JobQueue } from "../jobs/runner.js";
import type { StoredTrajectories } from "./store-trajectories.js";
import { trainingFileOf } from "./training-data.js";
import type { DataUse } from "./training-data.js";

type Used = { control: ControlPlane; jobs: JobQueue };
type Settings = Readonly<Record<string, unknown>>;

interface Request {
  caller: Caller;
  model: TrainingModel;
  idempotencyKey: string | undefined;
}

export interface RlRequest extends Request {
  trajectories: StoredTrajectories;
  /** Identifies the body of the request. */
  digest: string;
  config: Settings;
  warnings: readonly string[];
  /** The calls that the trajectories were made from. */
  callIds?: readonly string[];
}

/** Of a job whose data are the file of an artifact. */
export interface FileRequest extends Request {
  dataUrl: string;
  config: Settings;
  force: boolean;
  /** The calls that the rows were made from. */
  callIds?: readonly string[];
}

export interface SftRequest extends FileRequest {
  experimentalConfig: Settings;
}

/** Checks `experimental_config`, and resolves what it names. Throws `unprocessable`, and `not_found` for an artifact. */
export async function readRlConfig(
  services: { control: ControlPlane } & ModelBackends,
  { caller, projectId }: { caller: Caller; projectId: string },
  settings: Settings,
): Promise<{ config: Settings; warnings: string[] }> {
  const { unknownSettings } = atMember("experimental_config", () => rlConfig(settings));
  const ranking = await rankingOf(services, projectId, settings);
  const config = { ...settings, ...(ranking !== undefined && { ranking }) };
  const { kl_ref_adapter_path: path } = config as Settings;
  if (typeof path !== "string") return { config, warnings: unknownSettings.map(unknownSetting) };
  const version = await atMember(["experimental_config", "kl_ref_adapter_path"], async () => {
    const found = await resolveArtifact(services, caller, path);
    if (found.type !== "lora")
      throw new HeddleError("unprocessable", `the artifact has the type ${found.type}, not lora`);
    return found;
  });
  return { config: { ...config, kl_ref_adapter_path: version.id }, warnings: unknownSettings.map(unknownSetting) };
}

/** The ref of the version that `ranking` names, by its content. */
async function rankingOf(
  services: ModelBackends,
  projectId: string,
  { ranking: ref }: Settings,
): Promise<string | undefined> {
  if (typeof ref !== "string") return undefined;
  return await atMember(["experimental_config", "ranking"], async () => {
    const object = await referencedObject(services, projectId, ref);
    await loadRanking(services, object);
    return versionRef(object);
  });
}

/** Adds an RL job whose trajectories are stored, or returns the job that an equal request has added. */
export async function createRlJob(services: Used, request: RlRequest): Promise<TrainingJobRecord> {
  const { dataBlob, rollouts } = request.trajectories;
  return await create(services, request, {
    kind: "rl",
    request_digest: request.digest,
    config: JSON.stringify(request.config),
    warnings: request.warnings,
    data_blob: dataBlob,
    ...(rollouts && { rollouts }),
    ...(request.callIds && { call_ids: request.callIds }),
  });
}

/** Adds an SFT job, or returns the job that an equal request has added. */
export async function createSftJob(services: Used, request: SftRequest): Promise<TrainingJobRecord> {
  const { caller, config, experimentalConfig } = request;
  const { learning_rate: rate } = config;
  // The number of rates is checked when the rows are read.
  const oneRate = { ...config, ...(Array.isArray(rate) && { learning_rate: null }) };
  const { unknownSettings } = atMember([], () => sftConfig(oneRate, 1));
  const version = await dataVersion(services, request, "training");
  const validation = await validationData(services, caller, config);
  return await createOnFile(services, request, {
    kind: "sft",
    version,
    identity: { ...config, ...(validation && { validation_data_url: validation.digest }) },
    config: { ...config, ...(validation && { validation_data_url: validation.id }) },
    warnings: [...unknownSettings, ...Object.keys(experimentalConfig)].map(unknownSetting),
  });
}

/** Checks the settings of a job that learns preferences. Throws `unprocessable`. */
export function readPreferenceConfig(config: Settings): { objective: "dpo" | "kto"; warnings: string[] } {
  const { objective, unknownSettings } = atMember([], () => preferenceConfig(config));
  return { objective: objective.name, warnings: unknownSettings.map(unknownSetting) };
}

/** Adds a job that learns preferences, or returns the job that an equal request has added. */
export async function createPreferenceJob(services: Used, request: FileRequest): Promise<TrainingJobRecord> {
  const { config } = request;
  const { warnings } = readPreferenceConfig(config);
  const version = await dataVersion(services, request, "preferences");
  return await createOnFile(services, request, { kind: "preference", version, identity: config, config, warnings });
}

/** The artifact version with the rows. */
async function dataVersion(services: Used, { caller, dataUrl }: FileRequest, use: DataUse): Promise<ArtifactVersion> {
  return await atMember("training_data_url", async () => {
    const found = await mapErrors(asInvalid, () => resolveArtifact(services, caller, dataUrl));
    await trainingFileOf(services, found, use);
    return found;
  });
}

async function createOnFile(
  services: Used,
  request: FileRequest,
  plan: {
    kind: "sft" | "preference";
    version: ArtifactVersion;
    identity: Settings;
    config: Settings;
    warnings: string[];
  },
): Promise<TrainingJobRecord> {
  const { kind, version, identity, config, warnings } = plan;
  return await create(services, request, {
    kind,
    request_digest: sha256(
      JSON.stringify([version.digest, Object.entries(identity).toSorted(([a], [b]) => (a < b ? -1 : 1))]),
    ),
    config: JSON.stringify(config),
    warnings,
    data_source: version.id,
    ...(request.callIds && { call_ids: request.callIds }),
    force: request.force,
  });
}

/** The artifact version that `validation_data_url` names; undefined without one. */
async function validationData(
  services: Used,
  caller: Caller,
  { validation_data_url: url }: Settings,
): Promise<ArtifactVersion | undefined> {
  if (typeof url !== "string") return undefined;
  return await mapErrors(
    (error) => error.with({ loc: ["config", "validation_data_url"] }),
    async () => {
      const found = await mapErrors(asInvalid, () => resolveArtifact(services, caller, url));
      await trainingFileOf(services, found, "validation");
      return found;
    },
  );
}

async function create(
  { control, jobs }: Used,
  { caller, model, idempotencyKey }: Request,
  plan: Omit<
    Parameters<ControlPlane["trainingJobs"]["create"]>[0],
    "id" | "project_id" | "model_id" | "queue_kind" | "pool" | "added_by" | "created_by"
  >,
): Promise<TrainingJobRecord> {
  const { job } = await control.trainingJobs.create({
    ...plan,
    id: newId(),
    project_id: model.project_id,
    model_id: model.id,
    queue_kind: trainingKinds[plan.kind],
    pool: trainingPool,
    added_by: caller,
    // Keys of different users do not meet.
    ...(idempotencyKey !== undefined && { idempotency_key: sha256(`${caller.user_id}\n${idempotencyKey}`) }),
    created_by: caller.user_id,
  });
  jobs.wake();
  return job;
}

const unknownSetting = (name: string): string => `${name} is not a setting of this service, and is not applied`;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** An artifact that does not exist is wrong data of the request, not a missing record. */
function asInvalid(error: HeddleError): HeddleError {
  return error.code === "not_found" ? error.with({ code: "invalid", details: undefined }) : error;
}

/** Puts the member of the request in front of the location of an error; wrong settings are `unprocessable`. */
function atMember<T>(member: string | string[], read: () => T): T {
  return mapErrors((error) => {
    const loc = [...[member].flat(), ...(error.loc ?? [])];
    const isSetting = error.code === "invalid" && loc[0] !== "training_data_url";
    return error.with({ code: isSetting ? "unprocessable" : error.code, loc, details: undefined });
  }, read);
}
