import type { ControlPlaneMigration } from "./migrate.js";

export const trainingJobs: ControlPlaneMigration = {
  version: 6,
  name: "training-jobs",
  statements: [
    // The work is a row of `jobs` with the same id. `sequence` is the order of creation: times can be equal.
    `CREATE TABLE training_jobs (
      id TEXT PRIMARY KEY,
      sequence BIGINT NOT NULL UNIQUE,
      project_id TEXT NOT NULL,
      model_id TEXT NOT NULL REFERENCES training_models (id),
      kind TEXT NOT NULL CHECK (kind IN ('rl', 'sft')),
      request_digest TEXT NOT NULL,
      dedupe_key TEXT UNIQUE,
      config TEXT NOT NULL,
      warnings TEXT NOT NULL,
      data_blob TEXT,
      data_source TEXT,
      call_ids TEXT,
      created_by TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
      phase TEXT,
      error_message TEXT,
      error_type TEXT,
      num_sequences BIGINT,
      completed_sequences BIGINT NOT NULL,
      from_step BIGINT,
      step BIGINT,
      checkpoint_id TEXT,
      optimizer_files TEXT,
      created_at BIGINT NOT NULL,
      started_at BIGINT,
      ended_at BIGINT
    )`,
    `CREATE TABLE training_job_keys (
      idempotency_key TEXT PRIMARY KEY,
      job_id TEXT NOT NULL REFERENCES training_jobs (id)
    )`,
    "CREATE INDEX training_jobs_by_model ON training_jobs (model_id, sequence)",
    "CREATE INDEX training_jobs_active ON training_jobs (project_id, sequence) WHERE state IN ('queued', 'running')",
    "CREATE INDEX training_jobs_by_blob ON training_jobs (data_blob) WHERE data_blob IS NOT NULL",
    `CREATE TABLE training_events (
      id TEXT PRIMARY KEY,
      job_id TEXT NOT NULL REFERENCES training_jobs (id),
      sequence BIGINT NOT NULL,
      type TEXT NOT NULL CHECK (type IN ('training_started', 'gradient_step', 'training_ended', 'training_failed')),
      data TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      UNIQUE (job_id, sequence)
    )`,
    `CREATE UNIQUE INDEX training_events_terminal ON training_events (job_id)
      WHERE type IN ('training_ended', 'training_failed')`,
  ],
};
