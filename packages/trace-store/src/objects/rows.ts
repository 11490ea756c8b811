import type { Engine } from "../engine.js";
import { nullableField, textArrayField, textField, timeField } from "../tab-separated.js";
import type { Draft } from "./draft.js";

/** A row of `objects` as written. Writing the same key with a greater `version` replaces it. */
export interface ObjectRow extends Draft {
  version_index: number;
  created_at: bigint;
  published_at: bigint;
  deleted_at?: bigint;
  version: bigint;
}

const columns = [
  "project_id",
  "kind",
  "object_id",
  "digest",
  "version_index",
  "base_class",
  "leaf_class",
  "val",
  "exact",
  "refs",
  "size_bytes",
  "user_id",
  "created_at",
  "published_at",
  "deleted_at",
  "version",
] as const;

export async function insertObjects(engine: Engine, rows: readonly ObjectRow[]): Promise<void> {
  if (rows.length > 0) await engine.insert("objects", columns, rows.map(lineOf).join(""));
}

function lineOf(row: ObjectRow): string {
  const fields = [
    textField(row.project_id),
    row.kind,
    textField(row.object_id),
    textField(row.digest),
    String(row.version_index),
    textField(row.base_class),
    textField(row.leaf_class),
    textField(row.val),
    textField(row.exact),
    textArrayField(row.refs),
    String(row.size_bytes),
    textField(row.user_id),
    timeField(row.created_at),
    timeField(row.published_at),
    nullableField(row.deleted_at, timeField),
    String(row.version),
  ];
  return `${fields.join("\t")}\n`;
}
