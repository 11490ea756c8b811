import type { ControlPlaneMigration } from "./migrate.js";

export const trainingReads: ControlPlaneMigration = {
  version: 12,
  name: "training-reads",
  statements: [
    "ALTER TABLE checkpoints ADD COLUMN parity TEXT",
    "CREATE INDEX training_jobs_by_project ON training_jobs (project_id, sequence)",
  ],
};
