import { HeddleError } from "@heddle/errors";
import type { NewArtifactVersion } from "../artifacts/commit-version.js";
import type { ArtifactVersion } from "../artifacts/records.js";
import { getVersionById, listFiles } from "../artifacts/versions.js";
import type { Database, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { insertWeights } from "../training-models/weights.js";
import { insertCheckpoint, newestCheckpoint } from "../training-models/checkpoints.js";
import type { NewCheckpoint } from "../training-models/checkpoints.js";
import type { Checkpoint } from "../training-models/records.js";
import { storedText } from "../database/stored-text.js";
import { addTerminalEvent } from "./events.js";
import type { BlobFile } from "./records.js";

export interface TrainingResult {
  checkpoint: Pick<NewCheckpoint, "id" | "metrics" | "parity">;
  /** Contents that the project has sent; null for the untrained weights of the base model. */
  weights: Pick<NewArtifactVersion, "files" | "metadata"> | null;
  /** State of the optimizer; that of earlier jobs of the model is forgotten. */
  optimizer_files: readonly BlobFile[];
  /** Data of `training_ended`; `step` and `checkpoint_id` are added. */
  data: Readonly<Record<string, number>>;
}

export interface TrainingFailure {
  state: "failed" | "cancelled";
  /** For the user. */
  error_message: string;
  /** One word, stable enough to branch on. */
  error_type: string;
}

/**
 * Ends a running job: its checkpoint and `training_ended` become visible together. Returns undefined, and adds nothing,
 * for a job that does not run any more. Throws `not_found` when its model was deleted.
 */
export async function succeedTrainingJob(
  database: Database,
  id: string,
  { checkpoint, weights, optimizer_files, data }: TrainingResult,
  now: bigint,
): Promise<Checkpoint | undefined> {
  return await database.transaction(async (statements) => {
    const [job] = await statements.rows(
      `UPDATE training_jobs SET state = 'succeeded', phase = NULL, ended_at = $2, optimizer_files = $3,
          dedupe_key = CASE WHEN kind IN ('sft', 'preference') THEN dedupe_key ELSE NULL END
        WHERE id = $1 AND state = 'running' RETURNING model_id, created_by`,
      [id, now, storedText(JSON.stringify(optimizer_files))],
    );
    if (job === undefined) return undefined;
    const modelId = textOf(job, "model_id");
    const downloaded = weights ?? (await untrainedWeights(statements, modelId));
    const version =
      downloaded &&
      (await addWeights(statements, { ...downloaded, modelId, createdBy: textOf(job, "created_by") }, now));
    const identity = { artifact_version: version?.id ?? null, weights_digest: (weights && version?.digest) ?? null };
    const added = await insertCheckpoint(
      statements,
      { ...checkpoint, ...identity, job_id: id, model_id: modelId },
      now,
    );
    await statements.run("UPDATE training_jobs SET step = $2, checkpoint_id = $3 WHERE id = $1", [
      id,
      BigInt(added.step),
      added.id,
    ]);
    await statements.run(
      "UPDATE training_jobs SET optimizer_files = NULL WHERE model_id = $1 AND id <> $2 AND optimizer_files IS NOT NULL",
      [modelId, id],
    );
    const ended = JSON.stringify({ ...data, step: added.step, checkpoint_id: added.id });
    await addTerminalEvent(statements, id, { type: "training_ended", data: ended }, now);
    return added;
  });
}

/** What clients download of the newest checkpoint, which has no weights of its own: an adapter without effect. */
async function untrainedWeights(statements: Statements, modelId: string): Promise<TrainingResult["weights"]> {
  const newest = await newestCheckpoint(statements, modelId);
  if (newest === undefined || newest.artifact_version === null || newest.weights_digest !== null) return null;
  const version = await getVersionById(statements, newest.artifact_version);
  if (version === undefined) return null;
  const files = await listFiles(statements, { version_id: version.id, limit: mostUntrainedFiles });
  return { files, metadata: version.metadata };
}

/** An adapter has two. */
const mostUntrainedFiles = 10;

/** Adds the version of the model's artifact that its next checkpoint has. */
async function addWeights(
  statements: Statements,
  { modelId, createdBy, ...weights }: NonNullable<TrainingResult["weights"]> & { modelId: string; createdBy: string },
  now: bigint,
): Promise<ArtifactVersion> {
  const [model] = await statements.rows(
    "SELECT project_id, name, next_step FROM training_models WHERE id = $1 AND deleted_at IS NULL",
    [modelId],
  );
  if (model === undefined) throw new HeddleError("not_found", `no model ${modelId}`);
  const added = {
    ...weights,
    project_id: textOf(model, "project_id"),
    name: textOf(model, "name"),
    step: integerOf(model, "next_step"),
    created_by: createdBy,
  };
  return (await insertWeights(statements, added, now)).version;
}

/**
 * Ends jobs that wait or run, each with `training_failed`. Returns the ids of those that this call has ended.
 */
export async function failTrainingJobs(
  database: Database,
  which: { id: string } | { model_id: string },
  failure: TrainingFailure,
  now: bigint,
): Promise<string[]> {
  return await database.transaction(async (statements) => await fail(statements, which, failure, now));
}

async function fail(
  statements: Statements,
  which: { id: string } | { model_id: string },
  { state, error_message, error_type }: TrainingFailure,
  now: bigint,
): Promise<string[]> {
  const [column, value] = "id" in which ? ["id", which.id] : ["model_id", which.model_id];
  const rows = await statements.rows(
    `UPDATE training_jobs SET state = $2, phase = NULL, error_message = $3, error_type = $4, ended_at = $5,
        dedupe_key = NULL
      WHERE ${column} = $1 AND state IN ('queued', 'running') RETURNING id`,
    [value, state, storedText(error_message), error_type, now],
  );
  const ids: string[] = [];
  for (const row of rows) {
    const id = textOf(row, "id");
    const data = JSON.stringify({ error_message, error_type });
    await addTerminalEvent(statements, id, { type: "training_failed", data }, now);
    ids.push(id);
  }
  return ids;
}
