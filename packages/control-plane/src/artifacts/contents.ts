import { createHash } from "node:crypto";
import type { Database, Statements } from "../database/database.js";
import { textOf } from "../database/database.js";
import { batches, Parameters } from "../database/parameters.js";
import { contentColumns, contentOf } from "./records.js";
import type { ArtifactContent } from "./records.js";

/** Records that a project has sent content, which is in the blob store. */
export async function addUpload(
  database: Database,
  projectId: string,
  { sha256, md5, size_bytes }: ArtifactContent,
  now: bigint,
): Promise<void> {
  await database.run(
    `INSERT INTO artifact_uploads (sha256, project_id, md5, size_bytes, uploaded_at) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (sha256, project_id) DO UPDATE SET uploaded_at = excluded.uploaded_at`,
    [sha256, projectId, md5, BigInt(size_bytes), now],
  );
}

/** Those of the contents that the project has sent or has in a version, by SHA-256. */
export async function findContents(
  statements: Statements,
  projectId: string,
  digests: readonly string[],
): Promise<Map<string, ArtifactContent>> {
  const found = new Map<string, ArtifactContent>();
  for (const some of batches([...new Set(digests)].filter(isSha256))) {
    for (const table of ["artifact_uploads", "artifact_files"]) {
      const p = new Parameters();
      const sql = `SELECT DISTINCT ${contentColumns} FROM ${table}
        WHERE sha256 IN (${some.map((sha256) => p.bind(sha256)).join(", ")}) AND project_id = ${p.bind(projectId)}`;
      for (const row of await statements.rows(sql, p.values)) found.set(textOf(row, "sha256"), contentOf(row));
    }
  }
  return found;
}

/** Those of the contents that the project has sent or has in a version, by MD5. */
export async function findContentsByMd5(
  statements: Statements,
  projectId: string,
  digests: readonly string[],
): Promise<Map<string, ArtifactContent>> {
  const found = new Map<string, ArtifactContent>();
  for (const some of batches([...new Set(digests)].filter(isMd5))) {
    for (const table of ["artifact_files", "artifact_uploads"]) {
      const p = new Parameters();
      const sql = `SELECT DISTINCT ${contentColumns} FROM ${table}
        WHERE project_id = ${p.bind(projectId)} AND md5 IN (${some.map((md5) => p.bind(md5)).join(", ")})`;
      for (const row of await statements.rows(sql, p.values)) found.set(textOf(row, "md5"), contentOf(row));
    }
  }
  return found;
}

/** Those of the digests whose content any project has sent or has in a version. */
export async function contentsInUse(database: Database, digests: readonly string[]): Promise<Set<string>> {
  const used = new Set<string>();
  for (const some of batches([...new Set(digests)].filter(isSha256))) {
    for (const table of ["artifact_uploads", "artifact_files"]) {
      const p = new Parameters();
      const sql = `SELECT DISTINCT sha256 FROM ${table} WHERE sha256 IN (${some.map((sha256) => p.bind(sha256)).join(", ")})`;
      for (const row of await database.rows(sql, p.values)) used.add(textOf(row, "sha256"));
    }
  }
  return used;
}

/** Forgets the uploads before a time; the versions that name their content keep it. */
export async function forgetUploads(database: Database, before: bigint): Promise<void> {
  await database.run("DELETE FROM artifact_uploads WHERE uploaded_at < $1", [before]);
}

/** Identity of a list of files: the SHA-256 of their paths and contents in the order of the paths, in hex. */
export function manifestDigest(files: ReadonlyArray<{ path: string; sha256: string }>): string {
  const hash = createHash("sha256");
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  // A path holds no line feed.
  for (const { path, sha256 } of sorted) hash.update(`${path}\n${sha256}\n`);
  return hash.digest("hex");
}

const isMd5 = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);

export const isSha256 = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);
