import type { ControlPlaneMigration } from "./migrate.js";

export const links: ControlPlaneMigration = {
  version: 16,
  name: "links",
  statements: [
    `CREATE TABLE export_links (
      token_sha256 TEXT PRIMARY KEY,
      key_id TEXT NOT NULL,
      key_check TEXT NOT NULL,
      project_id TEXT NOT NULL,
      request TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      starts INTEGER NOT NULL
    )`,
    "CREATE INDEX export_links_of_key ON export_links (key_id, created_at)",
    `CREATE TABLE shares (
      id TEXT PRIMARY KEY,
      token_sha256 TEXT NOT NULL UNIQUE,
      key_id TEXT NOT NULL,
      key_check TEXT NOT NULL,
      project_id TEXT NOT NULL,
      trace_id TEXT NOT NULL,
      redact TEXT NOT NULL,
      created_by TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL
    )`,
    "CREATE INDEX shares_of_project ON shares (project_id, created_at)",
  ],
};
