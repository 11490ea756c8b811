import type { Statements } from "../database/database.js";
import { integerOf } from "../database/database.js";
import { isStorable } from "../database/names.js";
import { Parameters } from "../database/parameters.js";
import { modelColumns, modelOf } from "./records.js";
import type { TrainingModel } from "./records.js";

export interface ModelSearch {
  entity?: string | undefined;
  name?: string;
  limit?: number;
}

export interface FoundModel {
  model: TrainingModel;
  /** Of the newest checkpoint; null where all are deleted. */
  newest_step: number | null;
}

const defaultLimit = 100;

export async function searchModels(
  statements: Statements,
  { entity, name, limit = defaultLimit }: ModelSearch,
): Promise<FoundModel[]> {
  if ([entity, name].some((text) => text !== undefined && !isStorable(text))) return [];
  const p = new Parameters();
  const conditions = ["deleted_at IS NULL"];
  if (name !== undefined) conditions.push(`name = ${p.bind(name)}`);
  if (entity !== undefined) {
    const prefix = `${entity}/`;
    // SUBSTR counts characters.
    const length = p.bind(BigInt(Array.from(prefix).length));
    conditions.push(`SUBSTR(project_id, 1, CAST(${length} AS INTEGER)) = ${p.bind(prefix)}`);
  }
  const newest = "SELECT MAX(step) FROM checkpoints WHERE model_id = training_models.id AND deleted_at IS NULL";
  const sql = `SELECT ${modelColumns}, (${newest}) AS newest_step FROM training_models
    WHERE ${conditions.join(" AND ")} ORDER BY sequence DESC LIMIT ${p.bind(BigInt(limit))}`;
  const rows = await statements.rows(sql, p.values);
  return rows.map((row) => ({
    model: modelOf(row),
    newest_step: row["newest_step"] === null ? null : Number(integerOf(row, "newest_step")),
  }));
}
