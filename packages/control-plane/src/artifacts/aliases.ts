import { HeddleError } from "@heddle/errors";
import type { Database, Statements } from "../database/database.js";
import { checkAlias, latestAlias } from "./artifact-names.js";
import { requireCollection } from "./collections.js";
import type { ArtifactVersion } from "./records.js";
import { requireVersion } from "./versions.js";

export interface AliasOf {
  project_id: string;
  /** Name of the collection. */
  name: string;
  alias: string;
}

/** Gives an alias to a version; the version that had it loses it. */
export async function writeAlias(
  statements: Statements,
  collectionId: string,
  versionId: string,
  alias: string,
): Promise<void> {
  await statements.run(
    `INSERT INTO artifact_aliases (collection_id, alias, version_id) VALUES ($1, $2, $3)
      ON CONFLICT (collection_id, alias) DO UPDATE SET version_id = excluded.version_id`,
    [collectionId, alias, versionId],
  );
}

export async function setAlias(
  database: Database,
  { project_id, name, alias }: AliasOf,
  selector: string,
): Promise<ArtifactVersion> {
  checkAlias(alias, "alias");
  refuseLatest(alias);
  return await database.transaction(async (statements) => {
    const collection = await requireCollection(statements, project_id, name);
    const { id } = await requireVersion(statements, project_id, name, selector);
    await writeAlias(statements, collection.id, id, alias);
    return await requireVersion(statements, project_id, name, alias);
  });
}

export async function deleteAlias(database: Database, { project_id, name, alias }: AliasOf): Promise<void> {
  refuseLatest(alias);
  await database.transaction(async (statements) => {
    const collection = await requireCollection(statements, project_id, name);
    await requireVersion(statements, project_id, name, alias);
    await statements.run("DELETE FROM artifact_aliases WHERE collection_id = $1 AND alias = $2", [
      collection.id,
      alias,
    ]);
  });
}

function refuseLatest(alias: string): void {
  if (alias !== latestAlias) return;
  throw new HeddleError("unprocessable", `${latestAlias} is always the newest version`, { loc: ["alias"] });
}
