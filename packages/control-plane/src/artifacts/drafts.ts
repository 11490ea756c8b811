import { randomUUID } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { Database, Row } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import type { ReserveRows } from "../database/reserve.js";
import { originalText, storedText } from "../database/stored-text.js";
import { checkArtifactName, checkArtifactType } from "./artifact-names.js";
import { checkAliases, checkTexts } from "./commit-version.js";

/** What a client says of a version before it sends its content. */
interface DraftFields {
  name: string;
  type: string;
  description?: string;
  /** JSON text of an object. */
  metadata?: string;
  aliases: readonly string[];
}

/** A version that a client has announced. Its id becomes the id of the version. */
export interface ArtifactDraft extends DraftFields {
  id: string;
  project_id: string;
  created_at: bigint;
  created_by: string;
}

/** Versions that clients have announced; one that is not committed within 7 days is forgotten. */
export interface ArtifactDrafts {
  /** Throws `unprocessable` for names and aliases that cannot be, and `too_large`. */
  add(draft: { project_id: string; created_by: string }, fields: DraftFields): Promise<ArtifactDraft>;
  /** Of any project: the caller checks that it may write to `project_id` of the result. */
  get(id: string): Promise<ArtifactDraft | undefined>;
  /** The list of its files as the client sent it, JSON text; undefined until then. */
  getManifest(id: string, reserve?: ReserveRows): Promise<string | undefined>;
  /** Throws `not_found`, and `too_large` beyond 16 MiB. */
  setManifest(id: string, manifest: string): Promise<void>;
  delete(id: string): Promise<void>;
  /** Forgets those that were added before a time, in microseconds since 1970. */
  forget(before: bigint): Promise<void>;
}

const columns = "id, project_id, fields, created_at, created_by";
const maxManifestBytes = 16 * 1024 * 1024;

export function openArtifactDrafts(database: Database, now: () => bigint): ArtifactDrafts {
  return {
    async add({ project_id, created_by }, fields) {
      checkArtifactName(fields.name, "name");
      checkArtifactType(fields.type, "type");
      checkAliases(fields.aliases);
      checkTexts({ metadata: fields.metadata, description: fields.description });
      const [row] = await database.rows(
        `INSERT INTO artifact_drafts (id, project_id, fields, created_at, created_by) VALUES ($1, $2, $3, $4, $5)
          RETURNING ${columns}`,
        [randomUUID(), project_id, storedText(JSON.stringify(fields)), now(), storedText(created_by)],
      );
      return draftOf(row ?? {});
    },
    async get(id) {
      const [row] = await database.rows(`SELECT ${columns} FROM artifact_drafts WHERE id = $1`, [storedText(id)]);
      return row && draftOf(row);
    },
    async getManifest(id, reserve) {
      const key = [storedText(id)];
      const [size] = await database.rows(
        "SELECT octet_length(manifest) AS bytes FROM artifact_drafts WHERE id = $1 AND manifest IS NOT NULL",
        key,
      );
      if (size === undefined) return undefined;
      await reserve?.(Number(integerOf(size, "bytes")), 1);
      const [row] = await database.rows("SELECT manifest FROM artifact_drafts WHERE id = $1", key);
      return row && originalText(textOf(row, "manifest"));
    },
    async setManifest(id, manifest) {
      if (Buffer.byteLength(manifest) > maxManifestBytes) {
        throw new HeddleError("too_large", `a manifest has at most ${maxManifestBytes} bytes`);
      }
      const rows = await database.rows("UPDATE artifact_drafts SET manifest = $2 WHERE id = $1 RETURNING id", [
        storedText(id),
        storedText(manifest),
      ]);
      if (rows.length === 0) throw new HeddleError("not_found", "the artifact was committed or forgotten");
    },
    delete: async (id) => await database.run("DELETE FROM artifact_drafts WHERE id = $1", [storedText(id)]),
    forget: async (before) => await database.run("DELETE FROM artifact_drafts WHERE created_at < $1", [before]),
  };
}

function draftOf(row: Row): ArtifactDraft {
  return {
    ...(JSON.parse(originalText(textOf(row, "fields"))) as DraftFields),
    id: textOf(row, "id"),
    project_id: textOf(row, "project_id"),
    created_at: integerOf(row, "created_at"),
    created_by: originalText(textOf(row, "created_by")),
  };
}
