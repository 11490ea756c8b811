import { HeddleError } from "@heddle/errors";
import type { Database, Statements } from "../database.js";
import { insertJob } from "../jobs/insert.js";
import { storedText } from "../stored-text.js";
import { trainingJobColumns, trainingJobOf } from "./records.js";
import type { TrainingJobKind, TrainingJobRecord } from "./records.js";

export interface NewTrainingJob {
  /** A UUID. */
  id: string;
  project_id: string;
  model_id: string;
  kind: TrainingJobKind;
  /** Kind of the job of the queue that does the work. */
  queue_kind: string;
  /** Identifies the content of the request. */
  request_digest: string;
  /** The caller's name of the request: an equal one returns the same job, whatever its state. */
  idempotency_key?: string;
  /**
   * Makes a second job although an equal one is there. Otherwise an equal request returns the job that waits, runs or, for
   * `sft`, has succeeded.
   */
  force?: boolean;
  /** JSON text. */
  config: string;
  warnings?: readonly string[];
  data_blob?: string;
  data_source?: string;
  call_ids?: readonly string[];
  created_by: string;
}

/**
 * Adds a training job with the job of the queue, or returns the one that an equal request has added. Throws `not_found`
 * for a model that was deleted, `unprocessable` for an idempotency key that another request has used.
 */
export async function createTrainingJob(
  database: Database,
  job: NewTrainingJob,
  now: bigint,
): Promise<{ job: TrainingJobRecord; created: boolean }> {
  const dedupeKey = `${job.kind}:${job.model_id}:${job.request_digest}`;
  return await database.transaction(async (statements) => {
    const known = await earlierJob(statements, job, dedupeKey);
    if (known !== undefined) return { job: known, created: false };
    const [model] = await statements.rows("SELECT id FROM training_models WHERE id = $1 AND deleted_at IS NULL", [
      job.model_id,
    ]);
    if (model === undefined) {
      throw new HeddleError("not_found", `there is no model ${job.model_id}`, { loc: ["model_id"] });
    }
    if (job.force === true) {
      await statements.run("UPDATE training_jobs SET dedupe_key = NULL WHERE dedupe_key = $1", [dedupeKey]);
    }
    const [row] = await statements.rows(
      `INSERT INTO training_jobs (id, sequence, project_id, model_id, kind, request_digest, dedupe_key, idempotency_key,
          config, warnings, data_blob, data_source, call_ids, created_by, state, completed_sequences, created_at)
        SELECT $1, COALESCE(MAX(sequence), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 'queued', 0, $14
          FROM training_jobs WHERE TRUE
        RETURNING ${trainingJobColumns}`,
      [
        job.id,
        job.project_id,
        job.model_id,
        job.kind,
        job.request_digest,
        dedupeKey,
        job.idempotency_key === undefined ? null : storedText(job.idempotency_key),
        storedText(job.config),
        storedText(JSON.stringify(job.warnings ?? [])),
        job.data_blob ?? null,
        job.data_source === undefined ? null : storedText(job.data_source),
        job.call_ids === undefined ? null : storedText(JSON.stringify(job.call_ids)),
        job.created_by,
        now,
      ],
    );
    if (row === undefined) throw new TypeError("the insert returned no row");
    const { id, project_id, queue_kind: kind, model_id } = job;
    await insertJob(statements, { id, project_id, kind, serial_key: model_id, payload: "{}" }, now);
    return { job: trainingJobOf(row), created: true };
  });
}

async function earlierJob(
  statements: Statements,
  { idempotency_key: key, request_digest: digest, model_id: modelId, force }: NewTrainingJob,
  dedupeKey: string,
): Promise<TrainingJobRecord | undefined> {
  const find = async (column: string, value: string) => {
    const sql = `SELECT ${trainingJobColumns} FROM training_jobs WHERE ${column} = $1`;
    const [row] = await statements.rows(sql, [value]);
    return row && trainingJobOf(row);
  };
  if (key !== undefined) {
    const named = await find("idempotency_key", storedText(key));
    if (named !== undefined && (named.request_digest !== digest || named.model_id !== modelId)) {
      const message = "another request was sent with this Idempotency-Key";
      throw new HeddleError("unprocessable", message, { loc: ["Idempotency-Key"] });
    }
    if (named !== undefined) return named;
  }
  return force === true ? undefined : await find("dedupe_key", dedupeKey);
}
