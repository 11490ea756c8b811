import type { ControlPlaneMigration } from "./migrate.js";

/** A column's CHECK cannot be changed everywhere, hence another column of the same name. */
export const preferenceJobs: ControlPlaneMigration = {
  version: 22,
  name: "preference-jobs",
  statements: [
    `ALTER TABLE training_jobs ADD COLUMN wider_kind TEXT NOT NULL DEFAULT 'rl'
      CHECK (wider_kind IN ('rl', 'sft', 'preference'))`,
    "UPDATE training_jobs SET wider_kind = kind",
    "ALTER TABLE training_jobs DROP COLUMN kind",
    "ALTER TABLE training_jobs RENAME COLUMN wider_kind TO kind",
  ],
};
