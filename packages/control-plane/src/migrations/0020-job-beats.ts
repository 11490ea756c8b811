import type { ControlPlaneMigration } from "./migrate.js";

export const jobBeats: ControlPlaneMigration = {
  version: 20,
  name: "job-beats",
  statements: [
    // Counts up while a runner has the job. `lease_until`, a time, is not used any more: clocks can be set.
    "ALTER TABLE jobs ADD COLUMN beat BIGINT NOT NULL DEFAULT 0",
    "DROP INDEX jobs_running",
    "CREATE INDEX jobs_running ON jobs (id) WHERE state = 'running'",
    "CREATE INDEX jobs_by_claim ON jobs (claimed_at) WHERE claimed_at IS NOT NULL",
  ],
};
