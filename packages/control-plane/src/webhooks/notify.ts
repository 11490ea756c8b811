import { createHash, randomUUID } from "node:crypto";
import type { Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { storedText } from "../database/stored-text.js";
import type { WebhookEventType } from "./records.js";
import { webhookOf, webhookColumns } from "./records.js";

/** Something that has happened in a project. */
export interface WebhookEvent {
  project_id: string;
  type: WebhookEventType;
  /** Names what happened: an event with the same key is not sent a second time. Absent: each is sent. */
  key?: string;
  /** The only webhook that gets it. Absent: all that have asked for the event. */
  webhook_id?: string;
  /** Of the change that it is about: webhooks that have had the events up to it do not get it. Absent: all get it. */
  version?: bigint;
  /** Values of JSON. */
  data: Readonly<Record<string, unknown>>;
}

/** Greater than every version. */
const maxVersion = 2n ** 63n - 1n;

/** Deliveries of one webhook that wait. */
const mostWaiting = 10_000n;

/**
 * Adds a delivery for each webhook of the project that has asked for the event. Inside of a transaction it happens together
 * with what the event is about.
 */
export async function addDeliveries(
  statements: Statements,
  { project_id, type, key, webhook_id, version, data }: WebhookEvent,
  now: bigint,
): Promise<void> {
  const rows = await statements.rows(
    `SELECT ${webhookColumns} FROM webhooks WHERE project_id = $1 AND (position IS NULL OR position < $2) ORDER BY sequence`,
    [project_id, version ?? maxVersion],
  );
  const timestamp = new Date(Number(now / 1000n)).toISOString();
  const payload = storedText(JSON.stringify({ type, timestamp, data: { project_id, ...data } }));
  for (const { id: webhookId, events } of rows.map(webhookOf)) {
    if (!events.includes(type) || (webhook_id !== undefined && webhook_id !== webhookId)) continue;
    const [count] = await statements.rows(
      "SELECT COUNT(*) AS waiting FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'pending'",
      [webhookId],
    );
    const isFull = count !== undefined && integerOf(count, "waiting") >= mostWaiting;
    const error = isFull ? `not sent: ${mostWaiting} deliveries of this webhook wait already` : null;
    await statements.run(
      `INSERT INTO webhook_deliveries
          (id, sequence, webhook_id, project_id, event, payload, state, attempts, error, created_at, next_at, ended_at)
        SELECT $1, COALESCE(MAX(sequence), 0) + 1, $2, $3, $4, $5, $6, 0, $7, $8, $9, $10
          FROM webhook_deliveries WHERE TRUE
        ON CONFLICT (id) DO NOTHING`,
      [
        deliveryId(webhookId, key),
        webhookId,
        project_id,
        type,
        payload,
        isFull ? "failed" : "pending",
        error,
        now,
        isFull ? null : now,
        isFull ? now : null,
      ],
    );
  }
}

const statuses: Readonly<Record<string, string>> = { succeeded: "COMPLETED", failed: "FAILED", cancelled: "CANCELLED" };

/** The event of a training job that has ended; to be added in the transaction that ends it. */
export async function trainingJobEnded(statements: Statements, jobId: string): Promise<WebhookEvent> {
  const [row = {}] = await statements.rows(
    `SELECT project_id, model_id, kind, state, step, checkpoint_id, error_type, error_message FROM training_jobs
      WHERE id = $1`,
    [jobId],
  );
  const { model_id, kind, step = null, checkpoint_id, error_type } = row;
  return {
    project_id: textOf(row, "project_id"),
    type: "training_job.ended",
    key: `training_job ${jobId}`,
    data: {
      training_job_id: jobId,
      model_id,
      kind,
      status: statuses[textOf(row, "state")],
      step: step === null ? null : Number(step),
      checkpoint_id,
      error_type,
    },
  };
}

function deliveryId(webhookId: string, key: string | undefined): string {
  const digits =
    key === undefined
      ? randomUUID().replaceAll("-", "")
      : createHash("sha256").update(`${webhookId}\n${key}`).digest("hex").slice(0, 32);
  return `msg_${digits}`;
}
