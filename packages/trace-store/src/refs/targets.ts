import { HeddleError } from "@heddle/errors";
import { projectIdOf } from "@heddle/trace-model";
import type { JsonText } from "@heddle/exact-json";
import type { Ref, RefEdge } from "@heddle/trace-model";
import { readValues, sizeOf, valueKey } from "../objects/values.js";
import type { ReadOptions, StoreContext } from "../context.js";
import { rowsInTables } from "../tables/digests.js";
import { readRows, rowSizes } from "../tables/rows.js";
import { findVersions } from "./versions.js";
import type { ObjectRef } from "./versions.js";

/** What a ref leads into: an object, or the row of a table that the first edge names. */
export interface Entry {
  target: Ref;
  edges: readonly RefEdge[];
}

export interface ReadTargets extends ReadOptions {
  mayRead: (projectId: string) => boolean;
  /** Whether what does not exist is `not_found` for all entries, or null for its own. Default: `not_found`. */
  missing?: "not_found" | "null";
}

/**
 * The value at each entry, null where it is deleted or cannot be entered. Throws `not_found` when one does not exist or
 * is in a project that may not be read.
 */
export async function readTargets(
  context: StoreContext,
  entries: readonly Entry[],
  { mayRead, missing: whenMissing, ...options }: ReadTargets,
): Promise<Array<JsonText | null>> {
  const readable = entries.filter(({ target }) => mayRead(projectIdOf(target)));
  const [objects, rows] = await Promise.all([
    readObjects(
      context,
      readable.flatMap(({ target }) => (isObjectRef(target) ? [target] : [])),
      options,
    ),
    readTableRows(
      context,
      readable.flatMap((entry) => rowRefOf(entry) ?? []),
      options,
    ),
  ]);
  const missing: string[] = [];
  const values = entries.map((entry): JsonText | null => {
    const { target } = entry;
    const row = rowRefOf(entry);
    if (!isObjectRef(target) && row === undefined) return null;
    const value = isObjectRef(target) ? objects.get(objectKey(target)) : rows.get(rowKey(row));
    if (value === undefined) missing.push(isObjectRef(target) ? target.digest : (row?.row ?? ""));
    return value ?? null;
  });
  if (missing.length > 0 && whenMissing !== "null") {
    throw new HeddleError("not_found", `${missing.length} of the refs lead to nothing that exists`, {
      details: { missing_object_digests: [...new Set(missing)] },
    });
  }
  return values;
}

/** Values by `objectKey`; null for deleted versions. However many projects there are, the statements are few. */
async function readObjects(
  { engine }: StoreContext,
  refs: readonly ObjectRef[],
  { signal, reserve }: ReadOptions,
): Promise<Map<string, JsonText | null>> {
  if (refs.length === 0) return new Map();
  const find = await findVersions(engine, refs, signal);
  const found = refs.flatMap((ref) => {
    const version = find(ref);
    return version === undefined ? [] : [{ ref, version }];
  });
  const live = new Map(
    found.flatMap(({ version }) => (version.deleted_at === undefined ? [[valueKey(version), version] as const] : [])),
  );
  if (live.size > 0) await reserve?.(sizeOf(live.values()));
  const texts = await readValues(engine, [...live.values()], signal);
  return new Map(found.map(({ ref, version }) => [objectKey(ref), texts.get(valueKey(version)) ?? null]));
}

interface RowRef {
  project_id: string;
  table: string;
  row: string;
}

/** Values by `rowKey`, of rows that their table contains. */
async function readTableRows(
  { engine }: StoreContext,
  refs: readonly RowRef[],
  { signal, reserve }: ReadOptions,
): Promise<Map<string, JsonText>> {
  if (refs.length === 0) return new Map();
  const projects = [...new Set(refs.map(({ project_id }) => project_id))];
  const digests = [...new Set(refs.map(({ row }) => row))];
  const tables = [...new Set(refs.map(({ table }) => table))];
  const [contained, sizes] = await Promise.all([
    rowsInTables(engine, { projects, tables, rows: digests }, signal),
    rowSizes(engine, projects, digests, signal),
  ]);
  await reserve?.(Array.from(sizes.values()).reduce((sum, bytes) => sum + bytes, 0));
  const texts = new Map<string, JsonText>();
  for await (const { project_id, digest, val } of readRows(engine, projects, digests, signal)) {
    texts.set(`${project_id}\n${digest}`, val);
  }
  const values = new Map<string, JsonText>();
  for (const ref of refs) {
    const text = texts.get(`${ref.project_id}\n${ref.row}`);
    const isContained = contained.get(`${ref.project_id}\n${ref.table}`)?.has(ref.row) === true;
    if (text !== undefined && isContained) values.set(rowKey(ref), text);
  }
  return values;
}

function isObjectRef(ref: Ref): ref is ObjectRef {
  return (ref.kind === "object" || ref.kind === "op") && ref.digest !== "*";
}

/** A table is entered by the digest of a row, and by nothing else. */
function rowRefOf({ target, edges }: Entry): RowRef | undefined {
  const [edge] = edges;
  if (target.kind !== "table" || edge?.edge !== "id") return undefined;
  return { project_id: projectIdOf(target), table: target.digest, row: edge.value };
}

function objectKey(ref: ObjectRef): string {
  return [projectIdOf(ref), ref.kind, ref.name, ref.digest].join("\n");
}

function rowKey(ref: RowRef | undefined): string {
  return ref === undefined ? "" : [ref.project_id, ref.table, ref.row].join("\n");
}
