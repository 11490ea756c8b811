import type { ControlPlaneMigration } from "./migrate.js";

export const trackingRuns: ControlPlaneMigration = {
  version: 8,
  name: "tracking-runs",
  statements: [
    `CREATE TABLE tracking_runs (
      id TEXT PRIMARY KEY,
      project_id TEXT NOT NULL,
      name TEXT NOT NULL,
      fields TEXT NOT NULL,
      history_rows BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      created_by TEXT NOT NULL,
      updated_at BIGINT NOT NULL,
      UNIQUE (project_id, name)
    )`,
    `CREATE TABLE tracking_run_history (
      run_id TEXT NOT NULL REFERENCES tracking_runs (id),
      position BIGINT NOT NULL,
      row_json TEXT NOT NULL,
      PRIMARY KEY (run_id, position)
    )`,
    // A version that a client has announced, until all of its content is there.
    `CREATE TABLE artifact_drafts (
      id TEXT PRIMARY KEY,
      project_id TEXT NOT NULL,
      fields TEXT NOT NULL,
      manifest TEXT,
      created_at BIGINT NOT NULL,
      created_by TEXT NOT NULL
    )`,
    "CREATE INDEX artifact_drafts_by_time ON artifact_drafts (created_at)",
    "CREATE INDEX artifact_uploads_by_md5 ON artifact_uploads (project_id, md5)",
    "CREATE INDEX artifact_files_by_md5 ON artifact_files (project_id, md5)",
    `CREATE TABLE url_signing_key (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      secret TEXT NOT NULL
    )`,
  ],
};
