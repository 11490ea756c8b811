import { HeddleError } from "@heddle/errors";
import { formatTime, parseVersionLabel } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import type { Among, ObjectKind, VersionOf } from "./requests.js";
import { newestRows } from "../schema/read-table.js";

/** What is known of a version without its value. Deleted ones are kept, so that they differ from missing ones. */
export interface Version {
  project_id: string;
  kind: ObjectKind;
  object_id: string;
  digest: string;
  version_index: number;
  base_class: string;
  leaf_class: string;
  size_bytes: number;
  user_id: string;
  created_at: bigint;
  published_at: bigint;
  deleted_at: bigint | undefined;
  is_latest: boolean;
}

export interface VersionRow {
  project_id: string;
  kind: ObjectKind;
  object_id: string;
  digest: string;
  version_index: number;
  base_class: string;
  leaf_class: string;
  size_bytes: string;
  user_id: string;
  created_us: string;
  published_us: string;
  deleted_us: string | null;
  is_latest: number;
}

/** The columns of a `VersionRow`, `is_latest` left out. */
export const versionColumns = `project_id, kind, object_id, digest, version_index, base_class, leaf_class, size_bytes, user_id,
  toUnixTimestamp64Micro(created_at) AS created_us, toUnixTimestamp64Micro(published_at) AS published_us,
  toUnixTimestamp64Micro(deleted_at) AS deleted_us`;

/** Rows of the projects, and the kind in front of everything else so that the primary key serves the object id. */
export function inProject(p: Parameters, ...projectIds: string[]): string {
  return `${p.in("project_id", "String", projectIds)} AND kind IN ('object', 'op')`;
}

/** True for the live version of each name and kind that was published last. `scope` is its WHERE clause. */
export function isLatest(scope: string): string {
  return `(project_id, kind, object_id, digest) IN (
    SELECT project_id, kind, object_id, argMax(digest, (published_at, version_index)) FROM ${newestRows("objects")}
    WHERE ${scope} AND deleted_at IS NULL GROUP BY project_id, kind, object_id)`;
}

/** `among` passes over everything else under the name. */
interface VersionOptions {
  signal?: AbortSignal | undefined;
  among?: Among | undefined;
}

/**
 * The version that a digest or label means, deleted ones included. A label that fits an op and another object means the
 * live one, or the one published later.
 */
async function findVersion(
  engine: Engine,
  { project_id, object_id, digest }: VersionOf,
  { signal, among }: VersionOptions,
): Promise<Version | undefined> {
  const p = new Parameters();
  const scope = `${inProject(p, project_id)} AND object_id = ${p.bind("String", object_id)}`;
  const conditions = [scope, labelCondition(p, scope, digest)];
  if (among !== undefined) conditions.push(`kind = ${p.bind("String", among.kind)}`);
  if (among?.base_classes !== undefined) conditions.push(p.in("base_class", "String", among.base_classes));
  const sql = `SELECT ${versionColumns}, ${isLatest(scope)} AS is_latest FROM ${newestRows("objects")}
    WHERE ${conditions.join(" AND ")}
    ORDER BY deleted_at IS NULL DESC, published_at DESC, version_index DESC LIMIT 1`;
  const [row] = await engine.rows<VersionRow>({ sql, params: p }, { signal });
  return row && versionOf(row);
}

/** As `findVersion`, but throws `not_found`; for a deleted version with its `deleted_at`. */
export async function liveVersion(engine: Engine, wanted: VersionOf, options: VersionOptions = {}): Promise<Version> {
  const found = await findVersion(engine, wanted, options);
  if (found === undefined || found.deleted_at !== undefined) throw missingVersion(wanted, found?.deleted_at);
  return found;
}

export function missingVersion({ object_id, digest }: VersionOf, deletedAt?: bigint): HeddleError {
  if (deletedAt === undefined) return new HeddleError("not_found", `Object ${object_id}:${digest} not found`);
  return new HeddleError("not_found", `Object ${object_id}:${digest} was deleted`, {
    details: { deleted_at: formatTime(deletedAt) },
  });
}

/**
 * Every version of the names in the projects, deleted ones included, of both kinds; the one published last first. With
 * `digests` only the versions that have one of them.
 */
export async function allVersionsOf(
  engine: Engine,
  projectIds: readonly string[],
  objectIds: readonly string[],
  { digests, signal }: { digests?: readonly string[]; signal?: AbortSignal } = {},
): Promise<Version[]> {
  const p = new Parameters();
  const names = `${inProject(p, ...projectIds)} AND ${p.in("object_id", "String", objectIds)}`;
  const some = digests === undefined ? "" : ` AND ${p.in("digest", "String", digests)}`;
  const sql = `SELECT ${versionColumns}, ${isLatest(names)} AS is_latest FROM ${newestRows("objects")} WHERE ${names}${some}
    ORDER BY published_at DESC, version_index DESC`;
  return (await engine.rows<VersionRow>({ sql, params: p }, { signal })).map(versionOf);
}

export function versionOf(row: VersionRow): Version {
  return {
    project_id: row.project_id,
    kind: row.kind,
    object_id: row.object_id,
    digest: row.digest,
    version_index: row.version_index,
    base_class: row.base_class,
    leaf_class: row.leaf_class,
    size_bytes: Number(row.size_bytes),
    user_id: row.user_id,
    created_at: BigInt(row.created_us),
    published_at: BigInt(row.published_us),
    deleted_at: row.deleted_us === null ? undefined : BigInt(row.deleted_us),
    is_latest: row.is_latest === 1,
  };
}

/** Whether a version is one of those that are meant. */
export function isAmong({ kind, base_class }: Pick<Version, "kind" | "base_class">, among: Among | undefined): boolean {
  if (among === undefined) return true;
  return kind === among.kind && (among.base_classes?.includes(base_class) ?? true);
}

function labelCondition(p: Parameters, scope: string, label: string): string {
  const wanted = parseVersionLabel(label);
  if (wanted.by === "latest") return "1";
  if (wanted.by === "digest") return `digest = ${p.bind("String", wanted.digest)}`;
  if (wanted.by === "index") return wanted.index < 2 ** 32 ? `version_index = ${p.bind("UInt32", wanted.index)}` : "0";
  return `(kind, digest) IN (SELECT kind, digest FROM ${newestRows("object_aliases")}
    WHERE ${scope} AND alias = ${p.bind("String", wanted.alias)})`;
}
