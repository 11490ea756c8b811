import type { ControlPlaneMigration } from "./migrate.js";

export const artifacts: ControlPlaneMigration = {
  version: 7,
  name: "artifacts",
  statements: [
    // `sequence` is the order of creation: times can be equal.
    `CREATE TABLE artifact_collections (
      id TEXT PRIMARY KEY,
      sequence BIGINT NOT NULL UNIQUE,
      project_id TEXT NOT NULL,
      name TEXT NOT NULL,
      type TEXT NOT NULL,
      next_index BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      created_by TEXT NOT NULL,
      UNIQUE (project_id, name)
    )`,
    "CREATE INDEX artifact_collections_by_creation ON artifact_collections (project_id, sequence)",
    `CREATE TABLE artifact_versions (
      id TEXT PRIMARY KEY,
      collection_id TEXT NOT NULL REFERENCES artifact_collections (id),
      version_index BIGINT NOT NULL,
      digest TEXT NOT NULL,
      description TEXT NOT NULL,
      metadata TEXT NOT NULL,
      size_bytes BIGINT NOT NULL,
      file_count BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      created_by TEXT NOT NULL,
      UNIQUE (collection_id, version_index)
    )`,
    "CREATE INDEX artifact_versions_by_digest ON artifact_versions (collection_id, digest, version_index)",
    // The project is repeated, so that one index finds what a project has.
    `CREATE TABLE artifact_files (
      version_id TEXT NOT NULL REFERENCES artifact_versions (id),
      path TEXT NOT NULL,
      project_id TEXT NOT NULL,
      sha256 TEXT NOT NULL,
      md5 TEXT NOT NULL,
      size_bytes BIGINT NOT NULL,
      PRIMARY KEY (version_id, path)
    )`,
    "CREATE INDEX artifact_files_by_content ON artifact_files (sha256, project_id)",
    `CREATE TABLE artifact_aliases (
      collection_id TEXT NOT NULL REFERENCES artifact_collections (id),
      alias TEXT NOT NULL,
      version_id TEXT NOT NULL REFERENCES artifact_versions (id),
      PRIMARY KEY (collection_id, alias)
    )`,
    "CREATE INDEX artifact_aliases_by_version ON artifact_aliases (version_id)",
    // Content that a project has sent, until a version names it.
    `CREATE TABLE artifact_uploads (
      sha256 TEXT NOT NULL,
      project_id TEXT NOT NULL,
      md5 TEXT NOT NULL,
      size_bytes BIGINT NOT NULL,
      uploaded_at BIGINT NOT NULL,
      PRIMARY KEY (sha256, project_id)
    )`,
    "CREATE INDEX artifact_uploads_by_time ON artifact_uploads (uploaded_at)",
    "CREATE INDEX checkpoints_by_artifact ON checkpoints (artifact_version) WHERE artifact_version IS NOT NULL",
  ],
};
