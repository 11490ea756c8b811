import type { ControlPlaneMigration } from "./migrate.js";

export const webhooks: ControlPlaneMigration = {
  version: 14,
  name: "webhooks",
  statements: [
    `CREATE TABLE webhooks (
      id TEXT PRIMARY KEY,
      sequence BIGINT NOT NULL UNIQUE,
      project_id TEXT NOT NULL,
      url TEXT NOT NULL,
      events TEXT NOT NULL,
      description TEXT,
      secret TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      created_by TEXT NOT NULL
    )`,
    "CREATE INDEX webhooks_by_project ON webhooks (project_id, sequence)",
    `CREATE TABLE webhook_deliveries (
      id TEXT PRIMARY KEY,
      sequence BIGINT NOT NULL UNIQUE,
      webhook_id TEXT NOT NULL REFERENCES webhooks (id),
      project_id TEXT NOT NULL,
      event TEXT NOT NULL,
      payload TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
      attempts BIGINT NOT NULL,
      response_status BIGINT,
      error TEXT,
      created_at BIGINT NOT NULL,
      next_at BIGINT,
      ended_at BIGINT
    )`,
    "CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, sequence)",
    "CREATE INDEX webhook_deliveries_by_project ON webhook_deliveries (project_id)",
    "CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_at, sequence) WHERE state = 'pending'",
    "CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id) WHERE state = 'pending'",
    "CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE ended_at IS NOT NULL",
  ],
};
