import type { Statements } from "../database/database.js";

const models = "SELECT id FROM training_models WHERE project_id = $1";
const jobs = "SELECT id FROM training_jobs WHERE project_id = $1";
const collections = "SELECT id FROM artifact_collections WHERE project_id = $1";
const runs = "SELECT id FROM tracking_runs WHERE project_id = $1";

/** Every table with something of a project, and which of its rows are; rows before those that they refer to. */
const ofProject: readonly (readonly [table: string, condition: string])[] = [
  ["annotation_queue_progress", "project_id = $1"],
  ["annotation_queue_items", "project_id = $1"],
  ["annotation_queues", "project_id = $1"],
  ["training_rollouts", `job_id IN (${jobs})`],
  ["training_events", `job_id IN (${jobs})`],
  ["training_job_keys", `job_id IN (${jobs})`],
  ["training_jobs", "project_id = $1"],
  ["checkpoints", `model_id IN (${models})`],
  ["training_models", "project_id = $1"],
  ["artifact_aliases", `collection_id IN (${collections})`],
  ["artifact_files", "project_id = $1"],
  ["artifact_versions", `collection_id IN (${collections})`],
  ["artifact_collections", "project_id = $1"],
  ["artifact_uploads", "project_id = $1"],
  ["artifact_drafts", "project_id = $1"],
  ["tracking_run_history", `run_id IN (${runs})`],
  ["tracking_runs", "project_id = $1"],
  ["webhook_deliveries", "project_id = $1"],
  ["webhooks", "project_id = $1"],
  ["repeatable_requests", "project_id = $1"],
  ["jobs", "project_id = $1"],
  ["export_links", "project_id = $1"],
  ["shares", "project_id = $1"],
  ["projects", "entity || '/' || name = $1"],
  ["project_deletions", "project_id = $1"],
];

/** Deletes every row of a project, that of the project last. */
export async function deleteProjectRows(statements: Statements, projectId: string): Promise<void> {
  for (const [table, condition] of ofProject)
    await statements.run(`DELETE FROM ${table} WHERE ${condition}`, [projectId]);
}
