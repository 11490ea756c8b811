import type { Row } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { originalText } from "../database/stored-text.js";

/** Versions of one thing, under a name that is unique in its project. */
export interface ArtifactCollection {
  id: string;
  /** `entity/project` */
  project_id: string;
  name: string;
  /** What its versions hold: `lora`, `dataset`… */
  type: string;
  created_at: bigint;
  created_by: string;
}

/** An unchangeable list of files. */
export interface ArtifactVersion {
  id: string;
  project_id: string;
  /** Name of the collection. */
  collection: string;
  type: string;
  /** Position in the collection, from 0; the index of a deleted version is not used again. */
  index: number;
  /** SHA-256 of the paths and contents of all files, in hex; see `manifestDigest`. */
  digest: string;
  description: string;
  /** JSON text of an object. */
  metadata: string;
  /** Bytes of all files. */
  size_bytes: number;
  file_count: number;
  /** In alphabetical order; the newest version has `latest`. */
  aliases: string[];
  created_at: bigint;
  created_by: string;
}

/** Bytes that are in the blob store. */
export interface ArtifactContent {
  /** 64 lowercase hex digits. */
  sha256: string;
  /** 32 lowercase hex digits. */
  md5: string;
  size_bytes: number;
}

export interface ArtifactFile extends ArtifactContent {
  /** Relative, with `/` between its names. */
  path: string;
}

export const collectionColumns = "id, project_id, name, type, created_at, created_by";

export function collectionOf(row: Row): ArtifactCollection {
  return {
    id: textOf(row, "id"),
    project_id: textOf(row, "project_id"),
    name: textOf(row, "name"),
    type: textOf(row, "type"),
    created_at: integerOf(row, "created_at"),
    created_by: originalText(textOf(row, "created_by")),
  };
}

const versionColumnNames = [
  "id",
  "version_index",
  "digest",
  "description",
  "metadata",
  "size_bytes",
  "file_count",
  "created_at",
  "created_by",
];

/** Of `artifact_versions`, without those of the collection. */
export const ownVersionColumns = versionColumnNames.join(", ");

/** Of `artifact_versions v` joined with `artifact_collections c`. */
export const versionColumns = `${versionColumnNames.map((name) => `v.${name}`).join(", ")}, c.project_id, c.name, c.type`;

export function versionOf(row: Row, aliases: string[]): ArtifactVersion {
  return {
    id: textOf(row, "id"),
    project_id: textOf(row, "project_id"),
    collection: textOf(row, "name"),
    type: textOf(row, "type"),
    index: Number(integerOf(row, "version_index")),
    digest: textOf(row, "digest"),
    description: originalText(textOf(row, "description")),
    metadata: originalText(textOf(row, "metadata")),
    size_bytes: Number(integerOf(row, "size_bytes")),
    file_count: Number(integerOf(row, "file_count")),
    aliases,
    created_at: integerOf(row, "created_at"),
    created_by: originalText(textOf(row, "created_by")),
  };
}

export const contentColumns = "sha256, md5, size_bytes";

export function contentOf(row: Row): ArtifactContent {
  return {
    sha256: textOf(row, "sha256"),
    md5: textOf(row, "md5"),
    size_bytes: Number(integerOf(row, "size_bytes")),
  };
}

export function fileOf(row: Row): ArtifactFile {
  return { path: originalText(textOf(row, "path")), ...contentOf(row) };
}
