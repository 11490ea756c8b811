import { HeddleError } from "@heddle/errors";
import type { Database, Statements } from "../database/database.js";
import { insertJob } from "../jobs/insert.js";
import type { NewJob, WaitingLimit } from "../jobs/insert.js";
import { storedText } from "../database/stored-text.js";
import { trainingJobColumns, trainingJobOf } from "./records.js";
import type { TrainingJobKind, TrainingJobRecord } from "./records.js";

export interface NewTrainingJob extends Pick<NewJob, "pool" | "added_by"> {
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
   * Makes a second job although an equal one is there. Otherwise an equal request returns the job that waits, runs or,
   * unless it is `rl`, has succeeded.
   */
  force?: boolean;
  /** JSON text. */
  config: string;
  warnings?: readonly string[];
  data_blob?: string;
  data_source?: string;
  /** The blob with the texts of the trajectories, and its size. */
  rollouts?: { blob: string; bytes: number };
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
  { now, waitingPerKey }: { now: bigint; waitingPerKey: WaitingLimit },
): Promise<{ job: TrainingJobRecord; created: boolean }> {
  const dedupeKey = `${job.kind}:${job.model_id}:${job.request_digest}`;
  return await database.transaction(async (statements) => {
    const known = await earlierJob(statements, job, dedupeKey);
    if (known !== undefined) {
      await recordKey(statements, job.idempotency_key, known.id);
      return { job: known, created: false };
    }
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
      `INSERT INTO training_jobs (id, sequence, project_id, model_id, kind, request_digest, dedupe_key,
          config, warnings, data_blob, data_source, call_ids, created_by, state, completed_sequences, created_at,
          rollouts_blob, rollouts_bytes)
        SELECT $1, COALESCE(MAX(sequence), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'queued', 0, $13,
            $14, $15
          FROM training_jobs WHERE TRUE
        RETURNING ${trainingJobColumns}`,
      [
        job.id,
        job.project_id,
        job.model_id,
        job.kind,
        job.request_digest,
        dedupeKey,
        storedText(job.config),
        storedText(JSON.stringify(job.warnings ?? [])),
        job.data_blob ?? null,
        job.data_source === undefined ? null : storedText(job.data_source),
        job.call_ids === undefined ? null : storedText(JSON.stringify(job.call_ids)),
        job.created_by,
        now,
        job.rollouts?.blob ?? null,
        job.rollouts === undefined ? null : BigInt(job.rollouts.bytes),
      ],
    );
    if (row === undefined) throw new TypeError("the insert returned no row");
    const { id, project_id, model_id, queue_kind: kind, pool, added_by } = job;
    await recordKey(statements, job.idempotency_key, id);
    const queued = { id, project_id, kind, serial_key: model_id, payload: "{}", pool, added_by };
    await insertJob(statements, queued, { now, waitingPerKey });
    return { job: trainingJobOf(row), created: true };
  });
}

async function earlierJob(
  statements: Statements,
  { idempotency_key: key, request_digest: digest, model_id: modelId, force }: NewTrainingJob,
  dedupeKey: string,
): Promise<TrainingJobRecord | undefined> {
  const find = async (condition: string, value: string) => {
    const sql = `SELECT ${trainingJobColumns} FROM training_jobs WHERE ${condition}`;
    const [row] = await statements.rows(sql, [value]);
    return row && trainingJobOf(row);
  };
  if (key !== undefined) {
    const ofKey = "id = (SELECT job_id FROM training_job_keys WHERE idempotency_key = $1)";
    const named = await find(ofKey, storedText(key));
    if (named !== undefined && (named.request_digest !== digest || named.model_id !== modelId)) {
      const message = "another request was sent with this Idempotency-Key";
      throw new HeddleError("unprocessable", message, { loc: ["Idempotency-Key"] });
    }
    if (named !== undefined) return named;
  }
  return force === true ? undefined : await find("dedupe_key = $1", dedupeKey);
}

async function recordKey(statements: Statements, key: string | undefined, jobId: string): Promise<void> {
  if (key === undefined) return;
  await statements.run(
    "INSERT INTO training_job_keys (idempotency_key, job_id) VALUES ($1, $2) ON CONFLICT (idempotency_key) DO NOTHING",
    [storedText(key), jobId],
  );
}
