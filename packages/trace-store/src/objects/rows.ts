import type { Engine } from "../engine/engine.js";
import { contentColumns } from "../encoding/encode-value.js";
import { RowWriter } from "../engine/row-writer.js";
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
  ...contentColumns,
  "size_bytes",
  "user_id",
  "created_at",
  "published_at",
  "deleted_at",
  "version",
] as const;

export async function insertObjects(engine: Engine, rows: readonly ObjectRow[]): Promise<void> {
  const writer = new RowWriter();
  const written = rows.map((row) => writer.rowOf(() => writeFields(writer, row)));
  if (written.length > 0) await engine.insert("objects", columns, written);
}

function writeFields(writer: RowWriter, row: ObjectRow): void {
  writer.text(row.project_id);
  writer.text(row.kind);
  writer.text(row.object_id);
  writer.text(row.digest);
  writer.integer(row.version_index);
  writer.text(row.base_class);
  writer.text(row.leaf_class);
  writer.fields(row.content);
  writer.integer(row.size_bytes);
  writer.text(row.user_id);
  writer.time(row.created_at);
  writer.time(row.published_at);
  if (row.deleted_at === undefined) writer.null();
  else writer.time(row.deleted_at);
  writer.integer(row.version);
}
