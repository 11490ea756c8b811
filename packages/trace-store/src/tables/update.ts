import { HeddleError, type Loc } from "@heddle/errors";
import { tableDigest, type JsonText } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { insertTable, tableRowDigests } from "./digests.js";
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
  const updated_row_digests = applyEdits(digests, updates, addedDigests);
  const digest = tableDigest(digests);
  await insertRows(engine, project_id, rows, addedDigests);
  await insertTable(engine, { project_id, digest }, digests);
  return { digest, updated_row_digests };
}

/** Edits `digests` in place; `added` are the digests of appended and inserted rows in order. */
function applyEdits(digests: string[], edits: readonly TableEdit[], added: readonly string[]): string[] {
  let next = 0;
  return edits.map((edit, position) => {
    const loc = ["updates", position, nameOf(edit), "index"];
    if ("pop" in edit) {
      checkIndex(edit.pop.index, digests.length - 1, loc);
      return digests.splice(edit.pop.index, 1)[0] ?? "";
    }
    const digest = added[next++] ?? "";
    const index = "insert" in edit ? edit.insert.index : digests.length;
    checkIndex(index, digests.length, loc);
    digests.splice(index, 0, digest);
    return digest;
  });
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
