import type { ApiSchemas } from "../api-schemas.js";
import type { JsonText } from "@heddle/exact-json";

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

export type ObjectRead = ApiSchemas["ObjReadReq"];
/** Objects without a class stay when classes are excluded; `aliases` may hold `latest`; an empty list is not a condition. */
export type ObjectFilter = ApiSchemas["ObjectVersionFilter"];
/** Sort fields other than `object_id` and `created_at` are passed over. */
export type ObjectQuery = ApiSchemas["ObjQueryReq"];
/** `digests` are content digests or labels; absent: every live version, ops and other objects of that name alike. */
export type ObjectDelete = ApiSchemas["ObjDeleteReq"];

export interface DeletedObjects {
  num_deleted: number;
  deleted_versions: Array<Required<ApiSchemas["DeletedObjectVersion"]>>;
}

export type ObjectKind = "object" | "op";

/** Narrows a name to its versions of one kind, and of any of the base classes where there are some. */
export interface Among {
  kind: ObjectKind;
  base_classes?: readonly string[];
}

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
