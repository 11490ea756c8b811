import { HeddleError } from "@heddle/errors";
import type { Database, Statements } from "../database/database.js";
import { integerOf } from "../database/database.js";
import { checkName, isStorable } from "../database/names.js";
import { readPage } from "../database/page.js";
import type { CursorPage } from "../database/page.js";
import { modelColumns, modelOf } from "./records.js";
import type { ModelAdapter, ModelOrigin, TrainingModel } from "./records.js";
import type { NewArtifactVersion } from "../artifacts/commit-version.js";
import { insertWeights } from "./weights.js";

/** `id` and `checkpoint_id` are new UUIDs. */
export interface NewTrainingModel extends Omit<TrainingModel, "created_at" | "lora" | "origin"> {
  /** Of step 0. */
  checkpoint_id: string;
  lora?: ModelAdapter | null;
  origin?: ModelOrigin | null;
  /** Contents that the project has, as the weights of step 0. Absent: those of the base model. */
  weights?: Pick<NewArtifactVersion, "files" | "metadata">;
  /** Contents that the project has, an adapter without effect: what clients download as step 0. Used without `weights`. */
  untrained?: Pick<NewArtifactVersion, "files" | "metadata"> | undefined;
}

/**
 * Creates a model with its checkpoint of step 0. A model of that name in the project is returned as it is, also to
 * callers that create it at the same time.
 */
export async function createModel(
  database: Database,
  model: NewTrainingModel,
  now: bigint,
): Promise<{ model: TrainingModel; created: boolean }> {
  checkName(model.name, "name");
  return await database.transaction(async (statements) => {
    const [row] = await statements.rows(
      `INSERT INTO training_models (id, sequence, project_id, name, base_model, run_id, next_step, created_at, created_by,
          lora, origin)
        SELECT $1, COALESCE(MAX(sequence), 0) + 1, $2, $3, $4, $5, 1, $6, $7, $8, $9 FROM training_models WHERE TRUE
        ON CONFLICT (project_id, name) WHERE deleted_at IS NULL DO NOTHING RETURNING ${modelColumns}`,
      [
        model.id,
        model.project_id,
        model.name,
        model.base_model,
        model.run_id,
        now,
        model.created_by,
        model.lora ? JSON.stringify(model.lora) : null,
        model.origin ? JSON.stringify(model.origin) : null,
      ],
    );
    if (row === undefined) {
      const existing = await findModel(statements, model.project_id, model.name);
      if (existing === undefined) throw new Error(`the model ${model.name} vanished while it was created`);
      return { model: existing, created: false };
    }
    const { project_id, name, created_by } = model;
    const downloaded = model.weights ?? model.untrained;
    const version =
      downloaded &&
      (await insertWeights(statements, { ...downloaded, project_id, name, step: 0n, created_by }, now)).version;
    await statements.run(
      `INSERT INTO checkpoints (id, model_id, step, metrics, created_at, artifact_version, weights_digest)
        VALUES ($1, $2, 0, '{}', $3, $4, $5)`,
      [model.checkpoint_id, model.id, now, version?.id ?? null, (model.weights && version?.digest) ?? null],
    );
    return { model: modelOf(row), created: true };
  });
}

export async function getModel(statements: Statements, id: string): Promise<TrainingModel | undefined> {
  if (!isStorable(id)) return undefined;
  const sql = `SELECT ${modelColumns} FROM training_models WHERE id = $1 AND deleted_at IS NULL`;
  const [row] = await statements.rows(sql, [id]);
  return row && modelOf(row);
}

export async function findModel(
  statements: Statements,
  projectId: string,
  name: string,
): Promise<TrainingModel | undefined> {
  if (!isStorable(name)) return undefined;
  const sql = `SELECT ${modelColumns} FROM training_models WHERE project_id = $1 AND name = $2 AND deleted_at IS NULL`;
  const [row] = await statements.rows(sql, [projectId, name]);
  return row && modelOf(row);
}

export async function listModels(
  statements: Statements,
  projectId: string,
  page: CursorPage,
): Promise<{ models: TrainingModel[]; has_more: boolean }> {
  const source = { table: "training_models", columns: modelColumns, position: "sequence" };
  const { rows, hasMore } = await readPage(statements, { ...source, owner: ["project_id", projectId] }, page);
  return { models: rows.map(modelOf), has_more: hasMore };
}

/** Deletes a model and its checkpoints, and frees its name. Throws `not_found` for a model that does not exist. */
export async function deleteModel(
  database: Database,
  id: string,
  now: bigint,
): Promise<{ deleted_checkpoints: number }> {
  return await database.transaction(async (statements) => {
    if ((await getModel(statements, id)) === undefined) throw new HeddleError("not_found", `no model ${id}`);
    await statements.run("UPDATE training_models SET deleted_at = $2 WHERE id = $1", [id, now]);
    const live = "model_id = $1 AND deleted_at IS NULL";
    const [row = {}] = await statements.rows(`SELECT COUNT(*) AS live FROM checkpoints WHERE ${live}`, [id]);
    await statements.run(`UPDATE checkpoints SET deleted_at = $2 WHERE ${live}`, [id, now]);
    return { deleted_checkpoints: Number(integerOf(row, "live")) };
  });
}
