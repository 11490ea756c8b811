import { createHash, randomUUID } from "node:crypto";
import { mainThread } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { Database, SqlValue, Statements } from "../database/database.js";
import { textOf } from "../database/database.js";
import { batches, Parameters } from "../database/parameters.js";
import { storedText } from "../database/stored-text.js";
import { openRepeatableRequests } from "../repeatable-requests/repeatable-requests.js";
import { writeAlias } from "./aliases.js";
import { checkAlias, checkArtifactName, checkArtifactType, latestAlias } from "./artifact-names.js";
import { ensureCollection } from "./collections.js";
import { findContents, manifestDigest } from "./contents.js";
import { checkFilePath, checkFilesFit } from "./file-paths.js";
import type { ArtifactFile, ArtifactVersion } from "./records.js";
import { getVersionById, takeIndex } from "./versions.js";

export interface NewArtifactVersion {
  /** A UUID; a version that has it already is returned as it is. Default: a new one. */
  id?: string;
  project_id: string;
  /** Name of the collection, which is made when it is missing. */
  name: string;
  type: string;
  description?: string;
  /** JSON text of an object. */
  metadata?: string;
  /** Content that the project has sent or has in a version. */
  files: ReadonlyArray<{ path: string; sha256: string }>;
  /** Taken from the versions that have them. */
  aliases?: readonly string[];
  created_by: string;
  /** The index is not below it. */
  leastIndex?: bigint;
  /** Gives the aliases to the newest version instead when it has the same files. */
  deduplicate?: boolean;
}

/** One that may come again: with the id that it had, it is carried out once a day, and has the version of the first time. */
export interface RepeatableVersion extends NewArtifactVersion {
  retryId?: string;
}

export interface CommittedVersion {
  version: ArtifactVersion;
  /** Whether the version was made, and was not there before. */
  created: boolean;
}

/** Of one version. */
const maxFiles = 10_000;
/** A transaction of more takes milliseconds. */
const fewFiles = 500;
const maxAliases = 100;
const maxTextBytes = 1024 * 1024;

export async function commitVersion(
  database: Database,
  { retryId, ...request }: RepeatableVersion,
  now: () => bigint,
): Promise<CommittedVersion> {
  if (request.files.length > fewFiles) await mainThread.giveWay();
  return await database.transaction(async (statements) => {
    if (retryId === undefined) return await insertVersion(statements, request, now());
    const requests = openRepeatableRequests(statements, now);
    const known = { project_id: request.project_id, id: retryId, checksum: checksumOf(request) };
    const before = await requests.find(known);
    if (before !== undefined) return await madeBefore(statements, before.plan);
    const committed = await insertVersion(statements, request, now());
    await requests.begin({ ...known, plan: planOf(committed) });
    return committed;
  });
}

/** Makes a version, inside of a transaction. */
export async function insertVersion(
  statements: Statements,
  request: NewArtifactVersion,
  now: bigint,
): Promise<CommittedVersion> {
  checkVersion(request);
  const existing = request.id === undefined ? undefined : await getVersionById(statements, request.id);
  if (existing !== undefined) return { version: existing, created: false };
  const collection = await ensureCollection(statements, request, now);
  const files = await filesOf(statements, request);
  const digest = manifestDigest(files);
  const same = request.deduplicate === true ? await newestIfSame(statements, collection.id, digest) : undefined;
  const id = same ?? request.id ?? randomUUID();
  if (same === undefined) {
    const index = await takeIndex(statements, collection.id, request.leastIndex);
    const size = files.reduce((sum, file) => sum + file.size_bytes, 0);
    await statements.run(
      `INSERT INTO artifact_versions (id, collection_id, version_index, digest, description, metadata, size_bytes,
            file_count, created_at, created_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        id,
        collection.id,
        index,
        digest,
        storedText(request.description ?? ""),
        storedText(request.metadata ?? "{}"),
        BigInt(size),
        BigInt(files.length),
        now,
        storedText(request.created_by),
      ],
    );
    await insertFiles(statements, id, request.project_id, files);
    await writeAlias(statements, collection.id, id, latestAlias);
  }
  for (const alias of request.aliases ?? []) {
    if (alias !== latestAlias) await writeAlias(statements, collection.id, id, alias);
  }
  const version = await getVersionById(statements, id);
  if (version === undefined) throw new Error(`the version ${id} vanished while it was made`);
  return { version, created: same === undefined };
}

function checksumOf({ name, type, description, metadata, files, aliases, deduplicate }: NewArtifactVersion): string {
  const paths = files.map(({ path, sha256 }) => [path, sha256]);
  const text = JSON.stringify([name, type, description, metadata, paths, aliases, deduplicate]);
  return createHash("sha256").update(text).digest("hex");
}

const planOf = ({ version: { id }, created }: CommittedVersion): string => JSON.stringify([id, created]);

/** Throws `conflict` when the version was deleted since. */
async function madeBefore(statements: Statements, plan: string): Promise<CommittedVersion> {
  const [id, created] = JSON.parse(plan) as [string, boolean];
  const version = await getVersionById(statements, id);
  if (version === undefined) throw new HeddleError("conflict", "the version that this request has made was deleted");
  return { version, created };
}

function checkVersion({ name, type, files, aliases = [], metadata, description }: NewArtifactVersion): void {
  checkArtifactName(name, "name");
  checkArtifactType(type, "type");
  if (files.length > maxFiles) throw tooMany("files", maxFiles);
  for (const [at, { path }] of files.entries()) checkFilePath(path, "files", at, "path");
  checkFilesFit(
    files.map(({ path }) => path),
    "files",
  );
  checkAliases(aliases);
  checkTexts({ metadata, description });
}

/** Throws `unprocessable` for aliases that cannot be, and `too_large` for too many. */
export function checkAliases(aliases: readonly string[]): void {
  if (aliases.length > maxAliases) throw tooMany("aliases", maxAliases);
  for (const [at, alias] of aliases.entries()) checkAlias(alias, "aliases", at);
}

function tooMany(what: string, most: number): HeddleError {
  return new HeddleError("too_large", `a version has at most ${most} ${what}`, { loc: [what] });
}

/** Throws `too_large`. */
export function checkTexts(texts: Record<string, string | undefined>): void {
  for (const [what, text] of Object.entries(texts)) {
    if (text === undefined || Buffer.byteLength(text) <= maxTextBytes) continue;
    throw new HeddleError("too_large", `${what} has at most ${maxTextBytes} bytes`, { loc: [what] });
  }
}

/** Throws `unprocessable` for content that the project does not have. */
async function filesOf(statements: Statements, { project_id, files }: NewArtifactVersion): Promise<ArtifactFile[]> {
  const contents = await findContents(
    statements,
    project_id,
    files.map(({ sha256 }) => sha256),
  );
  return files.map(({ path, sha256 }, at) => {
    const content = contents.get(sha256);
    if (content !== undefined) return { path, ...content };
    throw new HeddleError("unprocessable", `the content of ${path} was not sent to ${project_id}: send it first`, {
      loc: ["files", at, "sha256"],
    });
  });
}

/** The newest version if it has the digest. An older one is not meant: `latest` is what was committed last. */
async function newestIfSame(statements: Statements, collectionId: string, digest: string): Promise<string | undefined> {
  const [row] = await statements.rows(
    "SELECT id, digest FROM artifact_versions WHERE collection_id = $1 ORDER BY version_index DESC LIMIT 1",
    [collectionId],
  );
  return row !== undefined && textOf(row, "digest") === digest ? textOf(row, "id") : undefined;
}

async function insertFiles(
  statements: Statements,
  versionId: string,
  projectId: string,
  files: readonly ArtifactFile[],
): Promise<void> {
  for (const some of batches(files)) {
    const p = new Parameters();
    const rows = some.map(({ path, sha256, md5, size_bytes }) => {
      const values: SqlValue[] = [versionId, storedText(path), projectId, sha256, md5, BigInt(size_bytes)];
      return `(${values.map((value) => p.bind(value)).join(", ")})`;
    });
    const sql = `INSERT INTO artifact_files (version_id, path, project_id, sha256, md5, size_bytes) VALUES ${rows.join(", ")}`;
    await statements.run(sql, p.values);
  }
}
