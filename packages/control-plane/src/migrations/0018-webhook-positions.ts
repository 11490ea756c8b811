import type { ControlPlaneMigration } from "./migrate.js";

export const webhookPositions: ControlPlaneMigration = {
  version: 18,
  name: "webhook-positions",
  statements: ["ALTER TABLE webhooks ADD COLUMN position BIGINT"],
};
