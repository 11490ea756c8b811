import { HeddleError } from "@heddle/errors";
import { projectIdOf, type Ref, type RefEdge, type JsonText } from "@heddle/trace-model";
import { readValues, valueKey } from "../objects/values.js";
import type { StoreContext } from "../context.js";
import { rowsInTables } from "../tables/digests.js";
import { readRows } from "../tables/rows.js";
import { findVersions, type ObjectRef, projectsOf } from "./versions.js";

/** A place that a ref leads into: an object, or the row of a table that the first edge names. */
export interface Entry {
  target: Ref;
  edges: readonly RefEdge[];
}

/**
 * The value at each entry, null where it is deleted or cannot be entered. Throws `not_found` when one does not exist or
 * stands in a project that may not be read.
 */
export async function readTargets(
  context: StoreContext,
  entries: readonly Entry[],
  mayRead: (project_id: string) => boolean,
): Promise<Array<JsonText | null>> {
  const readable = entries.filter(({ target }) => mayRead(projectIdOf(target)));
  const [objects, rows] = await Promise.all([
    readObjects(
      context,
      readable.flatMap(({ target }) => (isObjectRef(target) ? [target] : [])),
    ),
    readTableRows(
      context,
      readable.flatMap((entry) => rowRefOf(entry) ?? []),
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
  if (missing.length > 0) {
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
): Promise<Map<string, JsonText | null>> {
  const values = new Map<string, JsonText | null>();
  for (const [project_id, inProject] of projectsOf(refs)) {
    const find = await findVersions(engine, project_id, inProject);
    const found = inProject.flatMap((ref) => {
      const version = find(ref);
      return version === undefined ? [] : [{ ref, version }];
    });
    const live = new Map(
      found.flatMap(({ version }) => (version.deleted_at === undefined ? [[valueKey(version), version] as const] : [])),
    );
    const texts = await readValues(engine, project_id, [...live.values()]);
    for (const { ref, version } of found) values.set(objectKey(ref), texts.get(valueKey(version)) ?? null);
  }
  return values;
}

interface RowRef {
  project_id: string;
  table: string;
  row: string;
}

/** Values by `rowKey`, of rows that stand in their table. */
async function readTableRows({ engine }: StoreContext, refs: readonly RowRef[]): Promise<Map<string, JsonText>> {
  const values = new Map<string, JsonText>();
  for (const project_id of new Set(refs.map((ref) => ref.project_id))) {
    const inProject = refs.filter((ref) => ref.project_id === project_id);
    const digests = [...new Set(inProject.map(({ row }) => row))];
    const [standing, texts] = await Promise.all([
      rowsInTables(engine, project_id, [...new Set(inProject.map(({ table }) => table))], digests),
      readRows(engine, project_id, digests),
    ]);
    for (const ref of inProject) {
      const text = texts.get(ref.row);
      if (text !== undefined && standing.get(ref.table)?.has(ref.row) === true) values.set(rowKey(ref), text);
    }
  }
  return values;
}

function isObjectRef(ref: Ref): ref is ObjectRef {
  return (ref.kind === "object" || ref.kind === "op") && ref.digest !== "*";
}

/** A table is entered by the digest of a row, and in no other way. */
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
