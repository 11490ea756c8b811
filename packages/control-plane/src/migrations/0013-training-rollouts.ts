import type { ControlPlaneMigration } from "./migrate.js";

export const trainingRollouts: ControlPlaneMigration = {
  version: 13,
  name: "training-rollouts",
  statements: [
    // The texts of the rollouts of a job, one after the other. Bytes without a blob: the rows are still to be deleted.
    "ALTER TABLE training_jobs ADD COLUMN rollouts_blob TEXT",
    "ALTER TABLE training_jobs ADD COLUMN rollouts_bytes BIGINT",
    "CREATE INDEX training_jobs_with_rollouts ON training_jobs (sequence) WHERE rollouts_bytes IS NOT NULL",
    "CREATE INDEX training_jobs_by_rollouts ON training_jobs (rollouts_blob) WHERE rollouts_blob IS NOT NULL",
    // `position` is the order of the request, `by_reward` and `by_advantage` the positions in these orders.
    `CREATE TABLE training_rollouts (
      job_id TEXT NOT NULL REFERENCES training_jobs (id),
      id TEXT NOT NULL,
      group_index BIGINT NOT NULL,
      position BIGINT NOT NULL,
      by_reward BIGINT NOT NULL,
      by_advantage BIGINT NOT NULL,
      record TEXT NOT NULL,
      PRIMARY KEY (job_id, id)
    )`,
    "CREATE UNIQUE INDEX training_rollouts_by_position ON training_rollouts (job_id, position)",
    "CREATE UNIQUE INDEX training_rollouts_by_reward ON training_rollouts (job_id, by_reward)",
    "CREATE UNIQUE INDEX training_rollouts_by_advantage ON training_rollouts (job_id, by_advantage)",
  ],
};
