import type { ControlPlaneMigration } from "./migrate.js";

export const boundedTexts: ControlPlaneMigration = {
  version: 21,
  name: "bounded-texts",
  statements: [
    "ALTER TABLE export_links ADD COLUMN size BIGINT NOT NULL DEFAULT 0",
    // Each has all that is read of many links or webhooks at once: their rows can be long.
    "DROP INDEX export_links_of_key",
    "CREATE INDEX export_links_of_key ON export_links (key_id, created_at, size)",
    "CREATE INDEX export_links_by_age ON export_links (created_at)",
    `CREATE INDEX webhooks_by_look ON webhooks ((COALESCE(threshold_checked_at, 0)), sequence, id, project_id)
      WHERE threshold IS NOT NULL`,
  ],
};
