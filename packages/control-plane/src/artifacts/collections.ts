import { randomUUID } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { Database, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { storedText } from "../database/stored-text.js";
import { readPage } from "../database/page.js";
import type { CursorPage, PageSource } from "../database/page.js";
import { isArtifactName } from "./artifact-names.js";
import { collectionColumns, collectionOf } from "./records.js";
import type { ArtifactCollection } from "./records.js";

/** A page of the collections, in the order of their creation; absent `type`: of all types. */
export interface CollectionPage extends CursorPage {
  project_id: string;
  type?: string;
}

export interface NewCollection {
  project_id: string;
  name: string;
  type: string;
  created_by: string;
}

export async function getCollection(
  statements: Statements,
  projectId: string,
  name: string,
): Promise<ArtifactCollection | undefined> {
  if (!isArtifactName(name)) return undefined;
  const [row] = await statements.rows(
    `SELECT ${collectionColumns} FROM artifact_collections WHERE project_id = $1 AND name = $2`,
    [projectId, name],
  );
  return row && collectionOf(row);
}

/** Throws `not_found` for a collection that is not in the project. */
export async function requireCollection(
  statements: Statements,
  projectId: string,
  name: string,
): Promise<ArtifactCollection> {
  const collection = await getCollection(statements, projectId, name);
  if (collection === undefined) throw new HeddleError("not_found", `no artifact ${name} in ${projectId}`);
  return collection;
}

/** Throws `conflict` when the project has a collection of that name with another type. */
export async function ensureCollection(
  statements: Statements,
  { project_id, name, type, created_by }: NewCollection,
  now: bigint,
): Promise<ArtifactCollection> {
  await statements.run(
    `INSERT INTO artifact_collections (id, sequence, project_id, name, type, next_index, created_at, created_by)
      SELECT $1, COALESCE(MAX(sequence), 0) + 1, $2, $3, $4, 0, $5, $6 FROM artifact_collections WHERE TRUE
      ON CONFLICT (project_id, name) DO NOTHING`,
    [randomUUID(), project_id, name, type, now, storedText(created_by)],
  );
  const collection = await requireCollection(statements, project_id, name);
  if (collection.type !== type) {
    throw new HeddleError("conflict", `the artifact ${name} has the type ${collection.type}, not ${type}`, {
      loc: ["type"],
    });
  }
  return collection;
}

/** Throws `invalid` for a cursor that names no collection of the project. */
export async function pageCollections(
  database: Database,
  { project_id, type, ...page }: CollectionPage,
): Promise<{ collections: ArtifactCollection[]; has_more: boolean }> {
  const source: PageSource = {
    table: "artifact_collections",
    columns: collectionColumns,
    position: "sequence",
    owner: ["project_id", project_id],
    ...(type !== undefined && { filters: [["type", [storedText(type)]]] as const }),
    keepsDeleted: false,
  };
  const { rows, hasMore } = await readPage(database, source, page);
  return { collections: rows.map(collectionOf), has_more: hasMore };
}

/**
 * Throws `conflict` when one of the versions, a list or a query of ids, is a checkpoint that is not deleted, of a model
 * that is not deleted.
 */
export async function refuseCheckpoints(statements: Statements, versions: string, id: string): Promise<void> {
  const [row] = await statements.rows(
    `SELECT m.name, k.step FROM checkpoints k JOIN training_models m ON m.id = k.model_id
      WHERE k.artifact_version IN (${versions}) AND k.deleted_at IS NULL AND m.deleted_at IS NULL LIMIT 1`,
    [id],
  );
  if (row === undefined) return;
  const checkpoint = `step ${integerOf(row, "step")} of the model ${textOf(row, "name")}`;
  throw new HeddleError("conflict", `it is the checkpoint of ${checkpoint}: delete that`);
}

/**
 * Deletes a collection with all of its versions; returns false when there is none. Throws `conflict` while one of them is a
 * checkpoint.
 */
export async function deleteCollection(database: Database, projectId: string, name: string): Promise<boolean> {
  return await database.transaction(async (statements) => {
    const collection = await getCollection(statements, projectId, name);
    if (collection === undefined) return false;
    const versions = "SELECT id FROM artifact_versions WHERE collection_id = $1";
    await refuseCheckpoints(statements, versions, collection.id);
    for (const statement of [
      "DELETE FROM artifact_aliases WHERE collection_id = $1",
      `DELETE FROM artifact_files WHERE version_id IN (${versions})`,
      "DELETE FROM artifact_versions WHERE collection_id = $1",
      "DELETE FROM artifact_collections WHERE id = $1",
    ]) {
      await statements.run(statement, [collection.id]);
    }
    return true;
  });
}
