import type { ControlPlaneMigration } from "./migrate.js";

export const projectDeletions: ControlPlaneMigration = {
  version: 11,
  name: "project-deletions",
  statements: [
    // Projects of which something may be left. Nothing can be done in them until their row is gone from here.
    `CREATE TABLE project_deletions (
      project_id TEXT PRIMARY KEY,
      requested_at BIGINT NOT NULL,
      requested_by TEXT NOT NULL
    )`,
  ],
};
