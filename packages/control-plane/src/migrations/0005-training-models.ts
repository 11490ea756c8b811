import type { ControlPlaneMigration } from "./migrate.js";

export const trainingModels: ControlPlaneMigration = {
  version: 5,
  name: "training-models",
  statements: [
    // `sequence` is the order of creation: times can be equal.
    `CREATE TABLE training_models (
      id TEXT PRIMARY KEY,
      sequence BIGINT NOT NULL UNIQUE,
      project_id TEXT NOT NULL,
      name TEXT NOT NULL,
      base_model TEXT NOT NULL,
      run_id TEXT NOT NULL,
      next_step BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      created_by TEXT NOT NULL,
      deleted_at BIGINT
    )`,
    "CREATE UNIQUE INDEX training_models_by_name ON training_models (project_id, name) WHERE deleted_at IS NULL",
    "CREATE INDEX training_models_by_creation ON training_models (project_id, sequence) WHERE deleted_at IS NULL",
    // Deleted checkpoints stay: pages continue after them, and a job can still read the weights that it needs.
    `CREATE TABLE checkpoints (
      id TEXT PRIMARY KEY,
      model_id TEXT NOT NULL REFERENCES training_models (id),
      step BIGINT NOT NULL,
      metrics TEXT NOT NULL,
      artifact_version TEXT,
      weights_digest TEXT,
      job_id TEXT UNIQUE,
      created_at BIGINT NOT NULL,
      deleted_at BIGINT,
      UNIQUE (model_id, step)
    )`,
    "CREATE INDEX checkpoints_by_weights ON checkpoints (weights_digest)",
    `CREATE INDEX checkpoints_to_purge ON checkpoints (model_id, step)
      WHERE deleted_at IS NOT NULL AND artifact_version IS NOT NULL`,
  ],
};
