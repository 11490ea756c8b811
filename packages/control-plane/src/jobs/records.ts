import type { Row } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { originalText } from "../database/stored-text.js";

export const jobStates = ["queued", "running", "succeeded", "failed", "cancelled"] as const;
export type JobState = (typeof jobStates)[number];

/** The states that a job never leaves. */
export type JobOutcome = "succeeded" | "failed" | "cancelled";

/** How much of its work a job has done, in units of its kind. */
export interface JobProgress {
  completed: number;
  /** Null while it is not known. */
  total: number | null;
}

/** Work that is done after the response was sent. Times are microseconds since 1970. */
export interface Job {
  id: string;
  /** `entity/project` */
  project_id: string;
  kind: string;
  /** Jobs with the same key run one at a time, in the order of their creation; null for jobs that need no order. */
  serial_key: string | null;
  /** JSON text for the kind's own use. */
  payload: string;
  state: JobState;
  /** Why it failed. */
  error: string | null;
  /** How often it was claimed since its last progress, without the claims that were given back uncounted. */
  attempts: number;
  progress: JobProgress;
  created_at: bigint;
  ended_at: bigint | null;
}

/** A job that one runner alone has, until its lease ends. */
export interface ClaimedJob extends Job {
  /** Identifies this claim: a later claim of the same job has another one. */
  lease_token: string;
  /** Whether it was cancelled while a runner had it. It is then finished as `cancelled`, not run. */
  cancel_requested: boolean;
  /** Why, if it is not its owner who cancelled it. */
  cancel_reason: string | null;
  /** Of the key that added it. */
  entity: string;
  /** The key that added it; empty for a job of an earlier version. */
  key_id: string;
}

export const jobColumns = `id, project_id, kind, serial_key, payload, state, error, attempts, progress_completed,
  progress_total, created_at, ended_at, lease_token, cancel_requested, cancel_reason, entity, key_id`;

export function jobOf(row: Row): Job {
  const state = jobStates.find((known) => known === row["state"]);
  if (state === undefined) throw new TypeError("column state holds no state of a job");
  return {
    id: originalText(textOf(row, "id")),
    project_id: textOf(row, "project_id"),
    kind: textOf(row, "kind"),
    serial_key: row["serial_key"] === null ? null : originalText(textOf(row, "serial_key")),
    payload: originalText(textOf(row, "payload")),
    state,
    error: row["error"] === null ? null : originalText(textOf(row, "error")),
    attempts: Number(integerOf(row, "attempts")),
    progress: {
      completed: Number(integerOf(row, "progress_completed")),
      total: row["progress_total"] === null ? null : Number(integerOf(row, "progress_total")),
    },
    created_at: integerOf(row, "created_at"),
    ended_at: row["ended_at"] === null ? null : integerOf(row, "ended_at"),
  };
}

export function claimedJobOf(row: Row): ClaimedJob {
  return {
    ...jobOf(row),
    lease_token: textOf(row, "lease_token"),
    cancel_requested: integerOf(row, "cancel_requested") !== 0n,
    cancel_reason: row["cancel_reason"] === null ? null : originalText(textOf(row, "cancel_reason")),
    entity: textOf(row, "entity"),
    key_id: textOf(row, "key_id"),
  };
}
