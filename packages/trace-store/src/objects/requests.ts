import type { JsonText } from "@heddle/trace-model";

export interface ObjectCreate {
  project_id: string;
  object_id: string;
  val: JsonText;
  /** Name of a built-in class that `val` is to become an instance of. */
  builtin_object_class?: string;
  expected_digest?: string;
  wb_user_id?: string;
}

export interface CreatedObject {
  digest: string;
  object_id: string;
  version_index: number;
}

/** One version, by content digest or label (`latest`, `v3`, an alias). */
export interface VersionOf {
  project_id: string;
  object_id: string;
  digest: string;
}

export interface ObjectRead extends VersionOf {
  metadata_only?: boolean;
  include_tags_and_aliases?: boolean;
}

export interface ObjectFilter {
  base_object_classes?: readonly string[];
  /** Objects without a class stay. */
  exclude_base_object_classes?: readonly string[];
  leaf_object_classes?: readonly string[];
  object_ids?: readonly string[];
  is_op?: boolean;
  latest_only?: boolean;
  tags?: readonly string[];
  /** May hold `latest`. */
  aliases?: readonly string[];
}

export interface ObjectQuery {
  project_id: string;
  filter?: ObjectFilter;
  limit?: number;
  offset?: number;
  /** `object_id` and `created_at`; other fields are passed over. */
  sort_by?: ReadonlyArray<{ field: string; direction: "asc" | "desc" }>;
  metadata_only?: boolean;
  include_storage_size?: boolean;
  include_tags_and_aliases?: boolean;
}

export interface ObjectDelete {
  project_id: string;
  object_id: string;
  /** Content digests or labels; absent = every live version, ops and other objects of that name alike. */
  digests?: readonly string[];
}

export interface DeletedObjects {
  num_deleted: number;
  deleted_versions: Array<{
    digest: string;
    base_object_class: string | null;
    leaf_object_class: string | null;
  }>;
}

export type ObjectKind = "object" | "op";

/** A live version. */
export interface StoredObject {
  project_id: string;
  object_id: string;
  digest: string;
  kind: ObjectKind;
  version_index: number;
  is_latest: 0 | 1;
  base_object_class: string | null;
  leaf_object_class: string | null;
  /** The text as it was sent; `{}` when only metadata was asked for. */
  val: JsonText;
  created_at: bigint;
  deleted_at: null;
  wb_user_id: string | null;
  /** Bytes of `val` in UTF-8; null unless asked for. */
  size_bytes: number | null;
  /** Sorted; null unless asked for. */
  tags: string[] | null;
  /** `latest` first, then sorted; null unless asked for. */
  aliases: string[] | null;
}
