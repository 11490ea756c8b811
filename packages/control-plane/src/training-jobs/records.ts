import type { Row } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { originalText } from "../database/stored-text.js";
import { jobStates } from "../jobs/records.js";
import type { JobState } from "../jobs/records.js";

const trainingJobKinds = ["rl", "sft", "preference"] as const;
export type TrainingJobKind = (typeof trainingJobKinds)[number];

const trainingPhases = ["preparing", "training", "waiting", "saving", "verifying"] as const;
/** What a running job does now. */
export type TrainingPhase = (typeof trainingPhases)[number];

/** A file whose bytes are a blob. */
export interface BlobFile {
  /** Relative path with slashes. */
  path: string;
  /** Key of the blob. */
  blob: string;
}

/** A training job, as it is read. Its work is the job of the queue with the same id. Times are microseconds since 1970. */
export interface TrainingJobRecord {
  id: string;
  /** `entity/project` of the model. */
  project_id: string;
  model_id: string;
  kind: TrainingJobKind;
  /** Identifies the content of the request. */
  request_digest: string;
  /** JSON text of the submitted settings. */
  config: string;
  /** What was noticed in the request and its data, and does not prevent the job. */
  warnings: string[];
  /** Key of the blob with the data; null if an artifact has them. */
  data_blob: string | null;
  /** Id of the artifact version with the data. */
  data_source: string | null;
  /** Key of the blob with the texts of its trajectories, as they were sent; null where they are not kept. */
  rollouts_blob: string | null;
  /** Ids of the calls from which the data were made. */
  call_ids: string[] | null;
  /** Id of the user. */
  created_by: string;
  state: JobState;
  /** Null unless it runs. */
  phase: TrainingPhase | null;
  error_message: string | null;
  error_type: string | null;
  /** Number of gradient steps; null until the job has read its data. */
  num_sequences: number | null;
  completed_sequences: number;
  /** Step of the checkpoint that it began with; null before, and for the base model. */
  from_step: number | null;
  /** Step of the resulting checkpoint. */
  step: number | null;
  checkpoint_id: string | null;
  /** State of the optimizer after the job, as long as its checkpoint is the newest of the model. */
  optimizer_files: BlobFile[] | null;
  created_at: bigint;
  started_at: bigint | null;
  ended_at: bigint | null;
}

const trainingEventTypes = ["training_started", "gradient_step", "training_ended", "training_failed"] as const;
export type TrainingEventType = (typeof trainingEventTypes)[number];

export interface TrainingEventRecord {
  id: string;
  type: TrainingEventType;
  /** JSON text. */
  data: string;
  created_at: bigint;
}

export const trainingJobColumns = `id, project_id, model_id, kind, request_digest, config, warnings, data_blob, data_source, rollouts_blob,
  call_ids, created_by, state, phase, error_message, error_type, num_sequences, completed_sequences, from_step, step, checkpoint_id,
  optimizer_files, created_at, started_at, ended_at`;

export function trainingJobOf(row: Row): TrainingJobRecord {
  return {
    id: textOf(row, "id"),
    project_id: textOf(row, "project_id"),
    model_id: textOf(row, "model_id"),
    kind: oneOf(trainingJobKinds, row, "kind"),
    request_digest: textOf(row, "request_digest"),
    config: originalText(textOf(row, "config")),
    warnings: warningsOf(row),
    data_blob: optional(row, "data_blob", textOf),
    data_source: optional(row, "data_source", originalOf),
    rollouts_blob: optional(row, "rollouts_blob", textOf),
    call_ids: optional(row, "call_ids", (r, c) => JSON.parse(originalOf(r, c)) as string[]),
    created_by: textOf(row, "created_by"),
    state: oneOf(jobStates, row, "state"),
    phase: row["phase"] === null ? null : oneOf(trainingPhases, row, "phase"),
    error_message: optional(row, "error_message", originalOf),
    error_type: optional(row, "error_type", textOf),
    num_sequences: optional(row, "num_sequences", numberOf),
    completed_sequences: numberOf(row, "completed_sequences"),
    from_step: optional(row, "from_step", numberOf),
    step: optional(row, "step", numberOf),
    checkpoint_id: optional(row, "checkpoint_id", textOf),
    optimizer_files: optional(row, "optimizer_files", (r, c) => JSON.parse(originalOf(r, c)) as BlobFile[]),
    created_at: integerOf(row, "created_at"),
    started_at: optional(row, "started_at", integerOf),
    ended_at: optional(row, "ended_at", integerOf),
  };
}

export function warningsOf(row: Row): string[] {
  return JSON.parse(originalOf(row, "warnings")) as string[];
}

export function trainingEventOf(row: Row): TrainingEventRecord {
  return {
    id: textOf(row, "id"),
    type: oneOf(trainingEventTypes, row, "type"),
    data: originalText(textOf(row, "data")),
    created_at: integerOf(row, "created_at"),
  };
}

function originalOf(row: Row, column: string): string {
  return originalText(textOf(row, column));
}

function numberOf(row: Row, column: string): number {
  return Number(integerOf(row, column));
}

function optional<T>(row: Row, column: string, read: (row: Row, column: string) => T): T | null {
  return row[column] === null ? null : read(row, column);
}

function oneOf<const T extends string>(known: readonly T[], row: Row, column: string): T {
  const found = known.find((each) => each === row[column]);
  if (found === undefined) throw new TypeError(`column ${column} holds no known value`);
  return found;
}
