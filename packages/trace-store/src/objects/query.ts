import type { JsonText } from "@heddle/exact-json";
import type { ReadOptions } from "../context.js";
import type { Engine } from "../engine/engine.js";
import { checkPage, pageClause } from "../query/page.js";
import { Parameters } from "../engine/parameters.js";
import type { Heads } from "./heads.js";
import { labelsOf } from "./labels.js";
import type { ProjectLabel } from "./labels.js";
import type { Among, ObjectFilter, ObjectQuery, ObjectRead, StoredObject } from "./requests.js";
import { readByDigest } from "./read-by-digest.js";
import { readValues, sizeOf, valueKey } from "./values.js";
import { inProject, isLatest, liveVersion, missingVersion, versionColumns, versionOf } from "./versions.js";
import type { Version, VersionRow } from "./versions.js";
import { newestRows } from "../schema/read-table.js";

interface Including {
  metadata_only?: boolean;
  include_storage_size?: boolean;
  include_tags_and_aliases?: boolean;
}

/** `heads` where this process knows them: they tell which version is the latest. */
export async function readObject(
  engine: Engine,
  heads: Heads | undefined,
  request: ObjectRead,
  options: ReadOptions & { among?: Among } = {},
): Promise<StoredObject> {
  const found = heads && (await readByDigest(engine, heads, request, options));
  const version = found?.version ?? (await liveVersion(engine, request, options));
  const [object] = await complete(engine, [version], request, options, found?.val);
  if (object === undefined) throw missingVersion(request);
  return object;
}

/** Live versions, by default in the order in which they were created. */
export async function queryObjects(
  engine: Engine,
  request: ObjectQuery,
  options: ReadOptions = {},
): Promise<StoredObject[]> {
  checkPage(request);
  const p = new Parameters();
  const { filter = {} } = request;
  const scope =
    inProject(p, request.project_id) +
    (!filter.object_ids?.length ? "" : ` AND ${p.in("object_id", "String", filter.object_ids)}`);
  const conditions = [scope, "deleted_at IS NULL", ...filterConditions(p, scope, filter)];
  const sql = `SELECT ${versionColumns}, ${isLatest(scope)} AS is_latest FROM ${newestRows("objects")}
    WHERE ${conditions.join(" AND ")} ORDER BY ${sortKeys(request.sort_by).join(", ")}${pageClause(p, request)}`;
  const rows = await engine.rows<VersionRow>({ sql, params: p }, { signal: options.signal });
  return await complete(engine, rows.map(versionOf), request, options);
}

function filterConditions(p: Parameters, scope: string, filter: ObjectFilter): string[] {
  const conditions: string[] = [];
  const { base_object_classes, exclude_base_object_classes, leaf_object_classes, tags, aliases } = filter;
  if (base_object_classes?.length) conditions.push(p.in("base_class", "String", base_object_classes));
  if (exclude_base_object_classes?.length) {
    conditions.push(`NOT (base_class != '' AND ${p.in("base_class", "String", exclude_base_object_classes)})`);
  }
  if (leaf_object_classes?.length) conditions.push(p.in("leaf_class", "String", leaf_object_classes));
  if (filter.is_op !== undefined) conditions.push(`kind = '${filter.is_op ? "op" : "object"}'`);
  if (filter.latest_only === true) conditions.push("is_latest");
  if (tags?.length) {
    conditions.push(`(kind, object_id, digest) IN (
      SELECT kind, object_id, digest FROM ${newestRows("object_tags")} WHERE ${scope} AND ${p.in("tag", "String", tags)})`);
  }
  if (aliases?.length) {
    const named = `(kind, object_id, digest) IN (
      SELECT kind, object_id, digest FROM ${newestRows("object_aliases")} WHERE ${scope} AND ${p.in("alias", "String", aliases)})`;
    conditions.push(aliases.includes("latest") ? `(is_latest OR ${named})` : named);
  }
  return conditions;
}

const sortColumns = new Map([
  ["object_id", "object_id"],
  ["created_at", "created_us"],
]);

function sortKeys(sortBy: ObjectQuery["sort_by"] = []): string[] {
  const asked = sortBy.flatMap(({ field, direction }) => {
    const column = sortColumns.get(field);
    return column === undefined ? [] : [`${column} ${direction === "desc" ? "DESC" : "ASC"}`];
  });
  return [...new Set(asked), "created_us", "version_index", "object_id", "kind", "digest"];
}

/** Adds values and labels to versions; one that was deleted meanwhile is left out. `known` is the value of the only one. */
async function complete(
  engine: Engine,
  versions: readonly Version[],
  { metadata_only, include_storage_size, include_tags_and_aliases }: Including,
  { signal, reserve }: ReadOptions,
  known?: JsonText,
): Promise<StoredObject[]> {
  if (metadata_only !== true) await reserve?.(sizeOf(versions));
  const names = [...new Set(versions.map(({ object_id }) => object_id))];
  const projects = [...new Set(versions.map(({ project_id }) => project_id))];
  const labels = async (table: "object_tags" | "object_aliases") =>
    include_tags_and_aliases === true && names.length > 0
      ? byVersion(await labelsOf(engine, table, projects, names, signal))
      : undefined;
  const [values, tags, aliases] = await Promise.all([
    metadata_only === true || known !== undefined ? undefined : readValues(engine, versions, signal),
    labels("object_tags"),
    labels("object_aliases"),
  ]);
  return versions.flatMap((version): StoredObject[] => {
    const key = valueKey(version);
    const val = metadata_only === true ? "{}" : (known ?? values?.get(key));
    if (val === undefined) return [];
    const named = aliases?.get(key) ?? [];
    return [
      {
        project_id: version.project_id,
        object_id: version.object_id,
        digest: version.digest,
        kind: version.kind,
        version_index: version.version_index,
        is_latest: version.is_latest ? 1 : 0,
        base_object_class: version.base_class || null,
        leaf_object_class: version.leaf_class || null,
        val,
        created_at: version.created_at,
        deleted_at: null,
        wb_user_id: version.user_id || null,
        size_bytes: include_storage_size === true ? version.size_bytes : null,
        tags: tags === undefined ? null : (tags.get(key) ?? []),
        aliases: aliases === undefined ? null : version.is_latest ? ["latest", ...named] : named,
      },
    ];
  });
}

function byVersion(labels: readonly ProjectLabel[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const label of labels) {
    const key = valueKey(label);
    found.set(key, [...(found.get(key) ?? []), label.label]);
  }
  return found;
}
