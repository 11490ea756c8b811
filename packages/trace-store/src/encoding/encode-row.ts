import { storable } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { RowWriter } from "../engine/row-writer.js";

export interface TableRowText {
  project_id: string;
  digest: string;
  row: JsonText;
}

export const rowColumns = ["project_id", "digest", "val", "exact"] as const;

const writer = new RowWriter();

/** A row of `table_rows`. */
export function encodeRow({ project_id, digest, row }: TableRowText): Uint8Array {
  const { text, exact = "" } = storable(row);
  return writer.rowOf(() => {
    for (const field of [project_id, digest, text, exact]) writer.text(field);
  });
}
