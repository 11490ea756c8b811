import { mainThread } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { Loc } from "@heddle/errors";
import { tableDigest } from "@heddle/trace-model";
import type { JsonText } from "@heddle/exact-json";
import type { Engine } from "../engine/engine.js";
import { insertTable, tableRowDigests } from "./digests.js";
import { EditableList } from "./editable-list.js";
import type { TableEdit, TableUpdate } from "./requests.js";
import { insertRows, rowDigests } from "./rows.js";

/**
 * Applies edits in order to the rows of a table, which stays as it is; the outcome is another table. Returns the
 * digests of appended, inserted and popped rows in the order of the edits.
 */
export async function updateTable(
  engine: Engine,
  { project_id, base_digest, updates }: TableUpdate,
): Promise<{ digest: string; updated_row_digests: string[] }> {
  const digests = await tableRowDigests(engine, { project_id, digest: base_digest });
  if (digests === undefined) throw new HeddleError("not_found", `Table ${base_digest} not found`);
  const added = updates.flatMap((edit, index) => {
    const row = rowOf(edit);
    return row === undefined ? [] : [{ row, index }];
  });
  const rows = added.map(({ row }) => row);
  const addedDigests = await rowDigests(rows, (at) => {
    const index = added[at]?.index ?? 0;
    return ["updates", index, nameOf(updates[index]), "row"];
  });
  const list = new EditableList(digests);
  const updatedRowDigests = await applyEdits(list, updates, addedDigests);
  const edited = list.toArray();
  const digest = tableDigest(edited);
  await insertRows(engine, project_id, rows, addedDigests);
  await insertTable(engine, { project_id, digest }, edited);
  return { digest, updated_row_digests: updatedRowDigests };
}

/** Edits are made in slices, so that many of them do not block the event loop. */
const editSlice = 1000;

/** Edits `digests` in place; `added` are the digests of appended and inserted rows in order. */
async function applyEdits(
  digests: EditableList<string>,
  edits: readonly TableEdit[],
  added: readonly string[],
): Promise<string[]> {
  const updated: string[] = [];
  let next = 0;
  for (const [position, edit] of edits.entries()) {
    if (position % editSlice === editSlice - 1) await mainThread.giveWay();
    const loc = ["updates", position, nameOf(edit), "index"];
    if ("pop" in edit) {
      checkIndex(edit.pop.index, digests.length - 1, loc);
      updated.push(digests.remove(edit.pop.index) ?? "");
      continue;
    }
    const digest = added[next++] ?? "";
    const index = "insert" in edit ? edit.insert.index : digests.length;
    checkIndex(index, digests.length, loc);
    digests.insert(index, digest);
    updated.push(digest);
  }
  return updated;
}

function checkIndex(index: number, last: number, loc: Loc): void {
  if (Number.isInteger(index) && index >= 0 && index <= last) return;
  throw new HeddleError("invalid", `index ${index} is outside the table`, { loc });
}

function rowOf(edit: TableEdit): JsonText | undefined {
  if ("append" in edit) return edit.append.row;
  return "insert" in edit ? edit.insert.row : undefined;
}

function nameOf(edit: TableEdit | undefined): string {
  return Object.keys(edit ?? {})[0] ?? "";
}
