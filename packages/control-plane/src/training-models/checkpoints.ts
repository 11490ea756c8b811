import { HeddleError } from "@heddle/errors";
import type { Database, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { isStorable } from "../database/names.js";
import { batches, Parameters } from "../database/parameters.js";
import { getModel } from "./models.js";
import { readPage } from "../database/page.js";
import type { CursorPage } from "../database/page.js";
import { checkpointColumns, checkpointOf, parityText } from "./records.js";
import type { Checkpoint, CheckpointParity } from "./records.js";

/** Null `artifact_version` and `weights_digest`: the job changed no weight of the untrained model. */
export type NewCheckpoint = Pick<Checkpoint, "id" | "model_id" | "metrics" | "artifact_version" | "weights_digest"> & {
  job_id: string;
  parity?: CheckpointParity | null;
};

/** Metrics of one checkpoint. */
const maxMetrics = 10_000;

export async function pageCheckpoints(
  statements: Statements,
  modelId: string,
  page: CursorPage,
): Promise<{ checkpoints: Checkpoint[]; has_more: boolean }> {
  const source = { table: "checkpoints", columns: checkpointColumns, position: "step" };
  const { rows, hasMore } = await readPage(statements, { ...source, owner: ["model_id", modelId] }, page);
  return { checkpoints: rows.map(checkpointOf), has_more: hasMore };
}

export async function newestCheckpoint(statements: Statements, modelId: string): Promise<Checkpoint | undefined> {
  const sql = `SELECT ${checkpointColumns} FROM checkpoints WHERE model_id = $1 AND deleted_at IS NULL
    ORDER BY step DESC LIMIT 1`;
  const [row] = await statements.rows(sql, [modelId]);
  return row && checkpointOf(row);
}

export async function checkpointAtStep(
  statements: Statements,
  modelId: string,
  step: number,
  withDeleted: boolean,
): Promise<Checkpoint | undefined> {
  if (!Number.isSafeInteger(step)) return undefined;
  const kept = withDeleted ? "(deleted_at IS NULL OR artifact_version IS NOT NULL)" : "deleted_at IS NULL";
  const sql = `SELECT ${checkpointColumns} FROM checkpoints WHERE model_id = $1 AND step = $2 AND ${kept}`;
  const [row] = await statements.rows(sql, [modelId, BigInt(step)]);
  return row && checkpointOf(row);
}

export async function checkpointOfArtifact(
  statements: Statements,
  modelId: string,
  artifactVersion: string,
): Promise<Checkpoint | undefined> {
  const sql = `SELECT ${checkpointColumns} FROM checkpoints
    WHERE model_id = $1 AND artifact_version = $2 AND deleted_at IS NULL`;
  const [row] = await statements.rows(sql, [modelId, artifactVersion]);
  return row && checkpointOf(row);
}

/** Adds the result of a job, once: the checkpoint that the job has made before is returned as it is. */
export async function addCheckpoint(database: Database, added: NewCheckpoint, now: bigint): Promise<Checkpoint> {
  return await database.transaction(async (statements) => await insertCheckpoint(statements, added, now));
}

/** As `addCheckpoint`, inside of a transaction. */
export async function insertCheckpoint(statements: Statements, added: NewCheckpoint, now: bigint): Promise<Checkpoint> {
  checkMetricCount(added.metrics);
  const ofJob = `SELECT ${checkpointColumns} FROM checkpoints WHERE job_id = $1`;
  const [existing] = await statements.rows(ofJob, [added.job_id]);
  if (existing !== undefined) return checkpointOf(existing);
  const [model] = await statements.rows(
    `UPDATE training_models SET next_step = next_step + 1 WHERE id = $1 AND deleted_at IS NULL
      RETURNING next_step - 1 AS step`,
    [added.model_id],
  );
  if (model === undefined) throw new HeddleError("not_found", `no model ${added.model_id}`);
  const [row = {}] = await statements.rows(
    `INSERT INTO checkpoints (id, model_id, step, metrics, artifact_version, weights_digest, job_id, created_at,
        parity)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING ${checkpointColumns}`,
    [
      added.id,
      added.model_id,
      integerOf(model, "step"),
      JSON.stringify(added.metrics),
      added.artifact_version,
      added.weights_digest,
      added.job_id,
      now,
      added.parity ? parityText(added.parity) : null,
    ],
  );
  return checkpointOf(row);
}

/** Deletes checkpoints by their steps and returns them. Throws `not_found` for a model that does not exist. */
export async function deleteCheckpoints(
  database: Database,
  modelId: string,
  steps: readonly number[],
  now: bigint,
): Promise<Checkpoint[]> {
  const possible = [...new Set(steps)].filter((step) => Number.isSafeInteger(step));
  return await database.transaction(async (statements) => {
    if ((await getModel(statements, modelId)) === undefined) throw new HeddleError("not_found", `no model ${modelId}`);
    const deleted: Checkpoint[] = [];
    for (const some of batches(possible)) {
      const p = new Parameters();
      const sql = `UPDATE checkpoints SET deleted_at = ${p.bind(now)} WHERE model_id = ${p.bind(modelId)}
        AND deleted_at IS NULL AND step IN (${some.map((step) => p.bind(BigInt(step))).join(", ")})
        RETURNING ${checkpointColumns}`;
      deleted.push(...(await statements.rows(sql, p.values)).map(checkpointOf));
    }
    return deleted.toSorted((a, b) => a.step - b.step);
  });
}

/** Adds metrics to a checkpoint; those it has already under the same names are replaced. */
export async function mergeMetrics(
  database: Database,
  checkpointId: string,
  metrics: Readonly<Record<string, number>>,
): Promise<Checkpoint> {
  return await database.transaction(async (statements) => {
    const sql = `SELECT ${checkpointColumns} FROM checkpoints WHERE id = $1 AND deleted_at IS NULL`;
    const [row] = await statements.rows(sql, [checkpointId]);
    if (row === undefined) throw new HeddleError("not_found", `no checkpoint ${checkpointId}`);
    const checkpoint = checkpointOf(row);
    const merged = { ...checkpoint.metrics, ...metrics };
    checkMetricCount(merged);
    await statements.run("UPDATE checkpoints SET metrics = $2 WHERE id = $1", [checkpointId, JSON.stringify(merged)]);
    return { ...checkpoint, metrics: merged };
  });
}

/** Deleted checkpoints whose artifact versions are not deleted yet. */
export async function checkpointsToPurge(statements: Statements, modelId?: string): Promise<Checkpoint[]> {
  const toPurge = "deleted_at IS NOT NULL AND artifact_version IS NOT NULL";
  const rows =
    modelId === undefined
      ? await statements.rows(`SELECT ${checkpointColumns} FROM checkpoints WHERE ${toPurge} ORDER BY model_id, step`)
      : await statements.rows(
          `SELECT ${checkpointColumns} FROM checkpoints WHERE ${toPurge} AND model_id = $1 ORDER BY step`,
          [modelId],
        );
  return rows.map(checkpointOf);
}

/** Weights that checkpoints have or had. */
export interface KnownWeights {
  base_model: string;
  /** Whether a checkpoint that is not deleted has them. */
  in_use: boolean;
}

export async function findWeights(
  statements: Statements,
  digests: readonly string[],
): Promise<Map<string, KnownWeights>> {
  const found = new Map<string, KnownWeights>();
  for (const some of batches(digests.filter(isStorable))) {
    const p = new Parameters();
    const rows = await statements.rows(
      `SELECT c.weights_digest, MAX(m.base_model) AS base_model,
          MAX(CASE WHEN c.deleted_at IS NULL THEN 1 ELSE 0 END) AS in_use
        FROM checkpoints c JOIN training_models m ON m.id = c.model_id
        WHERE c.weights_digest IN (${some.map((digest) => p.bind(digest)).join(", ")}) GROUP BY c.weights_digest`,
      p.values,
    );
    for (const row of rows) {
      found.set(textOf(row, "weights_digest"), {
        base_model: textOf(row, "base_model"),
        in_use: integerOf(row, "in_use") === 1n,
      });
    }
  }
  return found;
}

export async function markPurged(statements: Statements, checkpointId: string): Promise<void> {
  await statements.run("UPDATE checkpoints SET artifact_version = NULL WHERE id = $1 AND deleted_at IS NOT NULL", [
    checkpointId,
  ]);
}

function checkMetricCount(metrics: Readonly<Record<string, number>>): void {
  const count = Object.keys(metrics).length;
  if (count <= maxMetrics) return;
  throw new HeddleError("too_large", `a checkpoint has at most ${maxMetrics} metrics; these would be ${count}`, {
    loc: ["metrics"],
  });
}
