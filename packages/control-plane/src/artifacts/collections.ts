import { randomUUID } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { Database, Statements } from "../database.js";
import { Parameters } from "../parameters.js";
import { storedText } from "../stored-text.js";
import { isArtifactName } from "./artifact-names.js";
import { collectionColumns, collectionOf } from "./records.js";
import type { ArtifactCollection } from "./records.js";

export interface CollectionPage {
  project_id: string;
  type?: string;
  /** Only names after this one. */
  after?: string;
  limit: number;
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
    `INSERT INTO artifact_collections (id, project_id, name, type, next_index, created_at, created_by)
      VALUES ($1, $2, $3, $4, 0, $5, $6) ON CONFLICT (project_id, name) DO NOTHING`,
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

/** The collections of a project in the order of their names. */
export async function listCollections(
  database: Database,
  { project_id, type, after, limit }: CollectionPage,
): Promise<ArtifactCollection[]> {
  const p = new Parameters();
  const conditions = [`project_id = ${p.bind(project_id)}`];
  if (after !== undefined) conditions.push(`name > ${p.bind(storedText(after))}`);
  if (type !== undefined) conditions.push(`type = ${p.bind(storedText(type))}`);
  const sql = `SELECT ${collectionColumns} FROM artifact_collections WHERE ${conditions.join(" AND ")}
    ORDER BY name LIMIT ${p.bind(BigInt(limit))}`;
  return (await database.rows(sql, p.values)).map(collectionOf);
}

/** Deletes a collection with all of its versions; returns false when there is none. */
export async function deleteCollection(database: Database, projectId: string, name: string): Promise<boolean> {
  return await database.transaction(async (statements) => {
    const collection = await getCollection(statements, projectId, name);
    if (collection === undefined) return false;
    const versions = "(SELECT id FROM artifact_versions WHERE collection_id = $1)";
    for (const statement of [
      "DELETE FROM artifact_aliases WHERE collection_id = $1",
      `DELETE FROM artifact_files WHERE version_id IN ${versions}`,
      "DELETE FROM artifact_versions WHERE collection_id = $1",
      "DELETE FROM artifact_collections WHERE id = $1",
    ]) {
      await statements.run(statement, [collection.id]);
    }
    return true;
  });
}
