import type { ControlPlaneMigration } from "./migrate.js";

export const jobs: ControlPlaneMigration = {
  version: 4,
  name: "jobs",
  statements: [
    // `sequence` is the order of creation: times can be equal.
    `CREATE TABLE jobs (
      id TEXT PRIMARY KEY,
      sequence BIGINT NOT NULL UNIQUE,
      project_id TEXT NOT NULL,
      kind TEXT NOT NULL,
      serial_key TEXT,
      payload TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
      error TEXT,
      attempts BIGINT NOT NULL,
      available_at BIGINT NOT NULL,
      cancel_requested INTEGER NOT NULL,
      lease_token TEXT,
      lease_until BIGINT,
      claimed_at BIGINT,
      progress_completed BIGINT NOT NULL,
      progress_total BIGINT,
      created_at BIGINT NOT NULL,
      ended_at BIGINT
    )`,
    "CREATE INDEX jobs_queued ON jobs (project_id, sequence) WHERE state = 'queued'",
    "CREATE INDEX jobs_running ON jobs (project_id, lease_until) WHERE state = 'running'",
    "CREATE INDEX jobs_by_claim ON jobs (project_id, claimed_at)",
    "CREATE INDEX jobs_by_serial_key ON jobs (serial_key, sequence) WHERE state IN ('queued', 'running')",
  ],
};
