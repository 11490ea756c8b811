import type { ControlPlaneMigration } from "./migrate.js";

export const jobTurns: ControlPlaneMigration = {
  version: 9,
  name: "job-turns",
  statements: [
    "ALTER TABLE jobs ADD COLUMN entity TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE jobs ADD COLUMN key_id TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE jobs ADD COLUMN pool TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE jobs ADD COLUMN turn BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE jobs ADD COLUMN waits_for TEXT CHECK (waits_for IN ('serial', 'time'))",
    "ALTER TABLE jobs ADD COLUMN cancel_reason TEXT",
    // Whose key added an earlier job is not known: it counts for the entity of its project.
    "UPDATE jobs SET entity = rtrim(rtrim(project_id, replace(project_id, '/', '')), '/')",
    "UPDATE jobs SET pool = 'training' WHERE kind LIKE 'train-%'",
    `UPDATE jobs SET waits_for = CASE WHEN EXISTS (
        SELECT 1 FROM jobs earlier WHERE earlier.serial_key = jobs.serial_key
          AND earlier.state IN ('queued', 'running') AND earlier.sequence < jobs.sequence)
      THEN 'serial' ELSE 'time' END WHERE state = 'queued'`,
    "DROP INDEX jobs_queued",
    "DROP INDEX jobs_running",
    "DROP INDEX jobs_by_claim",
    // What can be claimed: by turn, and in one project by age.
    `CREATE INDEX jobs_ready ON jobs (pool, entity, key_id, turn, sequence)
      WHERE state = 'queued' AND waits_for IS NULL AND cancel_requested = 0`,
    `CREATE INDEX jobs_ready_of_project ON jobs (pool, entity, key_id, project_id, sequence)
      WHERE state = 'queued' AND waits_for IS NULL AND cancel_requested = 0`,
    "CREATE INDEX jobs_delayed ON jobs (available_at) WHERE state = 'queued' AND waits_for = 'time'",
    `CREATE INDEX jobs_to_cancel ON jobs (cancel_requested, kind)
      WHERE state = 'queued' AND waits_for IS NULL AND cancel_requested = 1`,
    "CREATE INDEX jobs_queued ON jobs (kind) WHERE state = 'queued'",
    "CREATE INDEX jobs_running ON jobs (lease_until) WHERE state = 'running'",
    "CREATE INDEX jobs_of_key ON jobs (entity, key_id, state) WHERE state IN ('queued', 'running')",
    // The turns that were given, and when somebody had the last one. Partial, so that nothing else is searched by them.
    "CREATE INDEX jobs_turns ON jobs (pool, entity, key_id, project_id, turn) WHERE turn > 0",
    "CREATE INDEX jobs_claimed_turns ON jobs (pool, entity, key_id, turn) WHERE claimed_at IS NOT NULL",
    "CREATE INDEX jobs_claims_of_entity ON jobs (pool, entity, claimed_at) WHERE claimed_at IS NOT NULL",
    "CREATE INDEX jobs_claims_of_key ON jobs (pool, entity, key_id, claimed_at) WHERE claimed_at IS NOT NULL",
  ],
};
