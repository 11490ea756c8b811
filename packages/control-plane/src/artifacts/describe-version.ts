import type { Database } from "../database/database.js";
import { storedText } from "../database/stored-text.js";
import { checkTexts } from "./commit-version.js";
import type { ArtifactVersion } from "./records.js";
import { requireVersion } from "./versions.js";

/** What is said about a version, which its files do not depend on. */
export interface VersionDescription {
  description?: string;
  /** JSON text of an object. */
  metadata?: string;
}

/** Replaces what is given. */
export async function describeVersion(
  database: Database,
  { project_id, collection, index }: Pick<ArtifactVersion, "project_id" | "collection" | "index">,
  { description, metadata }: VersionDescription,
): Promise<ArtifactVersion> {
  checkTexts({ description, metadata });
  return await database.transaction(async (statements) => {
    const version = await requireVersion(statements, project_id, collection, `v${index}`);
    await statements.run("UPDATE artifact_versions SET description = $2, metadata = $3 WHERE id = $1", [
      version.id,
      storedText(description ?? version.description),
      storedText(metadata ?? version.metadata),
    ]);
    return {
      ...version,
      ...(description !== undefined && { description }),
      ...(metadata !== undefined && { metadata }),
    };
  });
}
