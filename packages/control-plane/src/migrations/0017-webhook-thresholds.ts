import type { ControlPlaneMigration } from "./migrate.js";

export const webhookThresholds: ControlPlaneMigration = {
  version: 17,
  name: "webhook-thresholds",
  statements: [
    "ALTER TABLE webhooks ADD COLUMN threshold TEXT",
    "ALTER TABLE webhooks ADD COLUMN threshold_passed BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE webhooks ADD COLUMN threshold_current TEXT",
    "ALTER TABLE webhooks ADD COLUMN threshold_checked_at BIGINT",
    "ALTER TABLE webhooks ADD COLUMN threshold_error TEXT",
  ],
};
