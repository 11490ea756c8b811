import type { ControlPlaneMigration } from "./migrate.js";

export const sessions: ControlPlaneMigration = {
  version: 10,
  name: "sessions",
  statements: [
    `CREATE TABLE sessions (
      id TEXT PRIMARY KEY,
      token_sha256 TEXT NOT NULL UNIQUE,
      cookie_sha256 TEXT NOT NULL,
      key_id TEXT NOT NULL,
      key_check TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      last_used_at BIGINT NOT NULL
    )`,
    "CREATE INDEX sessions_of_key ON sessions (key_id, created_at)",
    `CREATE TABLE session_codes (
      code_sha256 TEXT PRIMARY KEY,
      key_id TEXT NOT NULL,
      key_check TEXT NOT NULL,
      created_at BIGINT NOT NULL
    )`,
    "CREATE INDEX session_codes_of_key ON session_codes (key_id, created_at)",
  ],
};
