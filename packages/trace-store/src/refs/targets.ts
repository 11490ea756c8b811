import { HeddleError } from "@heddle/errors";
import { projectIdOf } from "@heddle/trace-model";
import type { Ref, RefEdge, JsonText } from "@heddle/trace-model";
import { readValues, sizeOf, valueKey } from "../objects/values.js";
import type { Reserve, StoreContext } from "../context.js";
import { rowsInTables } from "../tables/digests.js";
import { readRows, rowSizes } from "../tables/rows.js";
import { findVersions, projectsOf } from "./versions.js";
import type { ObjectRef } from "./versions.js";

/** What a ref leads into: an object, or the row of a table that the first edge names. */
export interface Entry {
  target: Ref;
  edges: readonly RefEdge[];
}

export interface ReadTargets {
  mayRead: (projectId: string) => boolean;
  reserve?: Reserve | undefined;
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
  { mayRead, reserve, missing: whenMissing }: ReadTargets,
): Promise<Array<JsonText | null>> {
  const readable = entries.filter(({ target }) => mayRead(projectIdOf(target)));
  const [objects, rows] = await Promise.all([
    readObjects(
      context,
      readable.flatMap(({ target }) => (isObjectRef(target) ? [target] : [])),
      reserve,
    ),
    readTableRows(
      context,
      readable.flatMap((entry) => rowRefOf(entry) ?? []),
      reserve,
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

/** Values by `objectKey`; null for deleted versions. */
async function readObjects(
  { engine }: StoreContext,
  refs: readonly ObjectRef[],
  reserve: Reserve | undefined,
): Promise<Map<string, JsonText | null>> {
  const values = new Map<string, JsonText | null>();
  for (const [projectId, inProject] of projectsOf(refs)) {
    const find = await findVersions(engine, projectId, inProject);
    const found = inProject.flatMap((ref) => {
      const version = find(ref);
      return version === undefined ? [] : [{ ref, version }];
    });
    const live = new Map(
      found.flatMap(({ version }) => (version.deleted_at === undefined ? [[valueKey(version), version] as const] : [])),
    );
    if (live.size > 0) await reserve?.(sizeOf(live.values()));
    const texts = await readValues(engine, projectId, [...live.values()]);
    for (const { ref, version } of found) values.set(objectKey(ref), texts.get(valueKey(version)) ?? null);
  }
  return values;
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
  reserve: Reserve | undefined,
): Promise<Map<string, JsonText>> {
  const values = new Map<string, JsonText>();
  for (const projectId of new Set(refs.map((ref) => ref.project_id))) {
    const inProject = refs.filter((ref) => ref.project_id === projectId);
    const digests = [...new Set(inProject.map(({ row }) => row))];
    const [contained, sizes] = await Promise.all([
      rowsInTables(engine, projectId, [...new Set(inProject.map(({ table }) => table))], digests),
      rowSizes(engine, projectId, digests),
    ]);
    await reserve?.(Array.from(sizes.values()).reduce((sum, bytes) => sum + bytes, 0));
    const texts = await readRows(engine, projectId, digests);
    for (const ref of inProject) {
      const text = texts.get(ref.row);
      if (text !== undefined && contained.get(ref.table)?.has(ref.row) === true) values.set(rowKey(ref), text);
    }
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
