import type { Row } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";

/** A model that is trained: a name, a base model and a series of checkpoints. Times are microseconds since 1970. */
export interface TrainingModel {
  /** A UUID. */
  id: string;
  /** `entity/project` */
  project_id: string;
  /** Unique among the models of the project that are not deleted. */
  name: string;
  base_model: string;
  /** The adapter that is trained; null for the default when its training begins. */
  lora: ModelAdapter | null;
  /** Where the weights of step 0 are from; null for those of the base model. */
  origin: ModelOrigin | null;
  /** Id of the run that a client tracks the training in; unique in the project. */
  run_id: string;
  created_at: bigint;
  /** Id of the user. */
  created_by: string;
}

/** The shape of a low-rank adapter. */
export interface ModelAdapter {
  rank: number;
  alpha: number;
  targets: string[];
}

/** A checkpoint of another model, or the digest of the files of an artifact version. */
export type ModelOrigin = { model_id: string; step: number } | { artifact_digest: string };

/** The weights of a model after a number of training jobs. */
export interface Checkpoint {
  /** A UUID. */
  id: string;
  model_id: string;
  /** Number of finished jobs; 0 is the model as it was created. */
  step: number;
  metrics: Record<string, number>;
  /** Id of the artifact version with the weights; for the untrained weights of the base model one without effect, or null. */
  artifact_version: string | null;
  /** Identifies the weights by their content; null for the untrained weights of the base model. */
  weights_digest: string | null;
  /** Id of the job that made it; null for step 0. */
  job_id: string | null;
  /** Null where nothing was compared. */
  parity: CheckpointParity | null;
  created_at: bigint;
}

/** How far log-probabilities of weights as they are served agree with those of their training. */
export interface CheckpointParity {
  max_difference: number;
  tolerance: number;
  /** Number of log-probabilities. */
  tokens: number;
  checked_at: bigint;
}

export const modelColumns = "id, project_id, name, base_model, lora, origin, run_id, created_at, created_by";

export const checkpointColumns =
  "id, model_id, step, metrics, artifact_version, weights_digest, job_id, parity, created_at";

export function modelOf(row: Row): TrainingModel {
  return {
    id: textOf(row, "id"),
    project_id: textOf(row, "project_id"),
    name: textOf(row, "name"),
    base_model: textOf(row, "base_model"),
    lora: row["lora"] === null ? null : (JSON.parse(textOf(row, "lora")) as ModelAdapter),
    origin: row["origin"] === null ? null : (JSON.parse(textOf(row, "origin")) as ModelOrigin),
    run_id: textOf(row, "run_id"),
    created_at: integerOf(row, "created_at"),
    created_by: textOf(row, "created_by"),
  };
}

export function checkpointOf(row: Row): Checkpoint {
  const orNull = (column: string) => (row[column] === null ? null : textOf(row, column));
  return {
    id: textOf(row, "id"),
    model_id: textOf(row, "model_id"),
    step: Number(integerOf(row, "step")),
    metrics: JSON.parse(textOf(row, "metrics")) as Record<string, number>,
    artifact_version: orNull("artifact_version"),
    weights_digest: orNull("weights_digest"),
    job_id: orNull("job_id"),
    parity: row["parity"] === null ? null : parityOf(textOf(row, "parity")),
    created_at: integerOf(row, "created_at"),
  };
}

export function parityText({ checked_at, ...parity }: CheckpointParity): string {
  return JSON.stringify({ ...parity, checked_at: String(checked_at) });
}

function parityOf(text: string): CheckpointParity {
  const { checked_at, ...parity } = JSON.parse(text) as Omit<CheckpointParity, "checked_at"> & { checked_at: string };
  return { ...parity, checked_at: BigInt(checked_at) };
}
