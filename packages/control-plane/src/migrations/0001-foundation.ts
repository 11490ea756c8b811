import type { ControlPlaneMigration } from "./migrate.js";

export const foundation: ControlPlaneMigration = {
  version: 1,
  name: "foundation",
  statements: [
    `CREATE TABLE instance (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      uuid TEXT NOT NULL,
      created_at BIGINT NOT NULL
    )`,
    `CREATE TABLE users (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      created_at BIGINT NOT NULL
    )`,
    `CREATE TABLE api_keys (
      id TEXT PRIMARY KEY,
      secret_sha256 TEXT NOT NULL UNIQUE,
      prefix TEXT NOT NULL,
      name TEXT NOT NULL,
      user_id TEXT NOT NULL REFERENCES users (id),
      entity TEXT NOT NULL,
      role TEXT NOT NULL CHECK (role IN ('admin', 'write', 'read')),
      projects TEXT,
      created_at BIGINT NOT NULL,
      revoked_at BIGINT,
      last_used_at BIGINT
    )`,
    `CREATE TABLE projects (
      id TEXT PRIMARY KEY,
      entity TEXT NOT NULL,
      name TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      UNIQUE (entity, name)
    )`,
  ],
};
