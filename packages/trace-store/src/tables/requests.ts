import type { JsonText } from "@heddle/trace-model";

export interface TableCreate {
  project_id: string;
  /** Objects only. */
  rows: readonly JsonText[];
  expected_digest?: string;
}

export interface TableOf {
  project_id: string;
  digest: string;
}

export type TableEdit =
  | { append: { row: JsonText } }
  | { pop: { index: number } }
  | { insert: { index: number; row: JsonText } };

export interface TableUpdate {
  project_id: string;
  base_digest: string;
  updates: readonly TableEdit[];
}

export interface TableQuery extends TableOf {
  filter?: { row_digests?: readonly string[] };
  limit?: number;
  offset?: number;
  /** Dotted paths into the rows; absent or empty = the order of the table. */
  sort_by?: ReadonlyArray<{ field: string; direction: "asc" | "desc" }>;
}

/** One position of a table; equal rows come once per position. */
export interface TableRow {
  digest: string;
  /** The text as it was sent. */
  val: JsonText;
  original_index: number;
}

export interface TableStats {
  digest: string;
  count: number;
  /** Bytes of the distinct rows in UTF-8; null unless asked for. */
  storage_size_bytes: number | null;
}
