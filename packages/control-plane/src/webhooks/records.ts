import type { Row } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { originalText } from "../database/stored-text.js";

export type WebhookEventType =
  | "evaluation_run.finished"
  | "training_job.ended"
  | "feedback.created"
  | "threshold.passed";

/** Where events of a project are sent, without the secret. Times are microseconds since 1970. */
export interface Webhook {
  id: string;
  project_id: string;
  url: string;
  events: WebhookEventType[];
  description: string | null;
  threshold: WebhookThreshold | null;
  created_at: bigint;
}

/** When the event `threshold.passed` of a webhook happens, and how that stood when it was looked at last. */
interface WebhookThreshold {
  /** JSON text, which the service reads. */
  condition: string;
  passed: boolean;
  /** Null where there was none. */
  current: number | null;
  checked_at: bigint | null;
  /** Why there is no current value; null if there is one, or none was looked for. */
  error: string | null;
}

/** One event that is sent to a webhook. */
export interface WebhookDelivery {
  /** The same on every attempt. */
  id: string;
  event: WebhookEventType;
  /** JSON text. */
  payload: string;
  state: "pending" | "delivered" | "failed";
  attempts: number;
  /** Of the last response; null where there was none. */
  response_status: number | null;
  error: string | null;
  created_at: bigint;
  /** Null unless it is pending. */
  next_at: bigint | null;
  ended_at: bigint | null;
}

/** A delivery whose time has come, and where to. */
export interface DueDelivery extends Pick<WebhookDelivery, "id" | "payload" | "attempts"> {
  webhook_id: string;
  project_id: string;
  url: string;
  secret: string;
}

export const webhookColumns =
  "id, project_id, url, events, description, created_at, threshold, threshold_passed, threshold_current, threshold_checked_at, threshold_error";
export const deliveryColumns =
  "id, event, payload, state, attempts, response_status, error, created_at, next_at, ended_at";

export function webhookOf(row: Row): Webhook {
  return {
    id: textOf(row, "id"),
    project_id: textOf(row, "project_id"),
    url: originalText(textOf(row, "url")),
    events: JSON.parse(textOf(row, "events")) as WebhookEventType[],
    description: orNull(row, "description", (column) => originalText(textOf(row, column))),
    threshold: orNull(row, "threshold", (column) => ({
      condition: originalText(textOf(row, column)),
      passed: integerOf(row, "threshold_passed") === 1n,
      current: orNull(row, "threshold_current", (current) => Number(textOf(row, current))),
      checked_at: orNull(row, "threshold_checked_at", (at) => integerOf(row, at)),
      error: orNull(row, "threshold_error", (error) => originalText(textOf(row, error))),
    })),
    created_at: integerOf(row, "created_at"),
  };
}

export function deliveryOf(row: Row): WebhookDelivery {
  return {
    id: textOf(row, "id"),
    event: textOf(row, "event") as WebhookEventType,
    payload: originalText(textOf(row, "payload")),
    state: textOf(row, "state") as WebhookDelivery["state"],
    attempts: Number(integerOf(row, "attempts")),
    response_status: orNull(row, "response_status", (column) => Number(integerOf(row, column))),
    error: orNull(row, "error", (column) => originalText(textOf(row, column))),
    created_at: integerOf(row, "created_at"),
    next_at: orNull(row, "next_at", (column) => integerOf(row, column)),
    ended_at: orNull(row, "ended_at", (column) => integerOf(row, column)),
  };
}

function orNull<T>(row: Row, column: string, read: (column: string) => T): T | null {
  return row[column] === null ? null : read(column);
}
