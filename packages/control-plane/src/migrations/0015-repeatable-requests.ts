import type { ControlPlaneMigration } from "./migrate.js";

export const repeatableRequests: ControlPlaneMigration = {
  version: 15,
  name: "repeatable-requests",
  statements: [
    `CREATE TABLE repeatable_requests (
      project_id TEXT NOT NULL,
      id TEXT NOT NULL,
      checksum TEXT NOT NULL,
      plan TEXT NOT NULL,
      result TEXT,
      created_at BIGINT NOT NULL,
      PRIMARY KEY (project_id, id)
    )`,
    "CREATE INDEX repeatable_requests_by_creation ON repeatable_requests (created_at)",
  ],
};
