import { HeddleError } from "@heddle/errors";
import type { Database, Row, SqlValue, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { batches, Parameters } from "../database/parameters.js";
import { storedText } from "../database/stored-text.js";
import { readPage } from "../database/page.js";
import type { CursorPage, PageSource } from "../database/page.js";
import { isArtifactLabel, isArtifactName, latestAlias, versionIndexOf } from "./artifact-names.js";
import { refuseCheckpoints, requireCollection } from "./collections.js";
import { isSha256 } from "./contents.js";
import { contentColumns, fileOf, ownVersionColumns, versionColumns, versionOf } from "./records.js";
import type { ArtifactFile, ArtifactVersion } from "./records.js";

export interface VersionPage extends CursorPage {
  project_id: string;
  /** Name of the collection. */
  name: string;
}

export interface FilePage {
  version_id: string;
  /** Only files after this path. */
  after?: string;
  limit: number;
}

const fromVersions = "FROM artifact_versions v JOIN artifact_collections c ON c.id = v.collection_id";

/**
 * The version that a selector names: `v<index>`, an alias, or a digest, of several versions with it the newest. Without
 * a selector the newest one.
 */
export async function getVersion(
  statements: Statements,
  projectId: string,
  name: string,
  selector: string = latestAlias,
): Promise<ArtifactVersion | undefined> {
  if (!isArtifactName(name) || !isArtifactLabel(selector)) return undefined;
  const index = versionIndexOf(selector);
  const isVersion =
    index !== undefined
      ? "v.version_index = $3"
      : isSha256(selector)
        ? "v.digest = $3"
        : "v.id = (SELECT a.version_id FROM artifact_aliases a WHERE a.collection_id = c.id AND a.alias = $3)";
  const [version] = await readVersions(
    statements,
    `WHERE c.project_id = $1 AND c.name = $2 AND ${isVersion} ORDER BY v.version_index DESC LIMIT 1`,
    [projectId, name, index ?? selector],
  );
  return version;
}

export async function getVersionById(statements: Statements, id: string): Promise<ArtifactVersion | undefined> {
  return (await readVersions(statements, "WHERE v.id = $1", [storedText(id)]))[0];
}

/**
 * A page of the versions in the order of their indices. Throws `not_found` for a collection that is not there, and
 * `invalid` for a cursor that names no version of it.
 */
export async function pageVersions(
  database: Database,
  { project_id, name, ...page }: VersionPage,
): Promise<{ versions: ArtifactVersion[]; has_more: boolean }> {
  const collection = await requireCollection(database, project_id, name);
  const source: PageSource = {
    table: "artifact_versions",
    columns: ownVersionColumns,
    position: "version_index",
    owner: ["collection_id", collection.id],
    bytes: "octet_length(description) + octet_length(metadata)",
    keepsDeleted: false,
  };
  const { rows, hasMore } = await readPage(database, source, page);
  const aliases = await aliasesOf(database, rows);
  const versions = rows.map((row) =>
    versionOf({ ...row, project_id, name, type: collection.type }, aliases.get(textOf(row, "id")) ?? []),
  );
  return { versions, has_more: hasMore };
}

async function readVersions(
  statements: Statements,
  condition: string,
  params: readonly SqlValue[],
): Promise<ArtifactVersion[]> {
  const rows = await statements.rows(`SELECT ${versionColumns} ${fromVersions} ${condition}`, params);
  const aliases = await aliasesOf(statements, rows);
  return rows.map((row) => versionOf(row, aliases.get(textOf(row, "id")) ?? []));
}

async function aliasesOf(statements: Statements, versions: readonly Row[]): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const some of batches(versions)) {
    const p = new Parameters();
    const ids = some.map((row) => p.bind(textOf(row, "id"))).join(", ");
    const sql = `SELECT version_id, alias FROM artifact_aliases WHERE version_id IN (${ids}) ORDER BY alias`;
    for (const row of await statements.rows(sql, p.values)) {
      const id = textOf(row, "version_id");
      found.set(id, [...(found.get(id) ?? []), textOf(row, "alias")]);
    }
  }
  return found;
}

/** The files of a version in the order of their paths. */
export async function listFiles(
  statements: Statements,
  { version_id, after, limit }: FilePage,
): Promise<ArtifactFile[]> {
  const rows = await statements.rows(
    `SELECT path, ${contentColumns} FROM artifact_files WHERE version_id = $1 AND path > $2 ORDER BY path LIMIT $3`,
    [storedText(version_id), storedText(after ?? ""), BigInt(limit)],
  );
  return rows.map(fileOf);
}

export async function getFile(database: Database, versionId: string, path: string): Promise<ArtifactFile | undefined> {
  const [row] = await database.rows(
    `SELECT path, ${contentColumns} FROM artifact_files WHERE version_id = $1 AND path = $2`,
    [storedText(versionId), storedText(path)],
  );
  return row && fileOf(row);
}

/**
 * Deletes a version with its aliases and returns it. `latest` passes to the newest one that is left. Throws `conflict` for
 * a checkpoint.
 */
export async function deleteVersion(
  database: Database,
  projectId: string,
  name: string,
  selector: string,
): Promise<ArtifactVersion> {
  return await database.transaction(async (statements) => {
    const version = await requireVersion(statements, projectId, name, selector);
    await refuseCheckpoints(statements, "$1", version.id);
    const collection = await requireCollection(statements, projectId, name);
    for (const table of ["artifact_aliases", "artifact_files"]) {
      await statements.run(`DELETE FROM ${table} WHERE version_id = $1`, [version.id]);
    }
    await statements.run("DELETE FROM artifact_versions WHERE id = $1", [version.id]);
    await statements.run(
      `INSERT INTO artifact_aliases (collection_id, alias, version_id)
        SELECT collection_id, $2, id FROM artifact_versions WHERE collection_id = $1 ORDER BY version_index DESC LIMIT 1
        ON CONFLICT (collection_id, alias) DO NOTHING`,
      [collection.id, latestAlias],
    );
    return version;
  });
}

/** Throws `not_found` for a selector that names no version. */
export async function requireVersion(
  statements: Statements,
  projectId: string,
  name: string,
  selector: string,
): Promise<ArtifactVersion> {
  const version = await getVersion(statements, projectId, name, selector);
  if (version === undefined) throw new HeddleError("not_found", `no artifact ${name}:${selector} in ${projectId}`);
  return version;
}

/** Index that the next version of a collection gets, at least `least`; it is taken by this call. */
export async function takeIndex(statements: Statements, collectionId: string, least = 0n): Promise<bigint> {
  const [row] = await statements.rows(
    `UPDATE artifact_collections SET next_index = CASE WHEN next_index < $2 THEN $2 ELSE next_index END + 1
      WHERE id = $1 RETURNING next_index - 1 AS taken`,
    [collectionId, least],
  );
  return integerOf(row ?? {}, "taken");
}
