import type { ApiSchemas } from "../api-schemas.js";
import type { JsonText } from "@heddle/exact-json";

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

/** Sort fields are dotted paths into the rows; without any the rows come in the order of the table. */
export type TableQuery = ApiSchemas["TableQueryReq"];

/** One position of a table; equal rows come once per position. */
export interface TableRow {
  digest: string;
  /** The text as it was sent. */
  val: JsonText;
  original_index: number;
}

/** `storage_size_bytes` are those of the distinct rows in UTF-8; null unless asked for. */
export type TableStats = Required<ApiSchemas["TableStatsRow"]>;
