import type { Row } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { originalText } from "../database/stored-text.js";
import { toState } from "./states.js";
import type { AnnotationState } from "./states.js";

/** A queue of calls to annotate. Times are microseconds since 1970. */
export interface AnnotationQueue {
  id: string;
  /** `entity/project` */
  project_id: string;
  name: string;
  description: string;
  scorer_refs: string[];
  created_at: bigint;
  /** Id of the user. */
  created_by: string;
  updated_at: bigint;
  deleted_at: bigint | null;
}

/** What a queue keeps of a call. */
export interface QueuedCall {
  call_id: string;
  call_started_at: bigint;
  /** Null for a call that ran when it was added. */
  call_ended_at: bigint | null;
  call_op_name: string;
  call_trace_id: string;
}

/** One call in one queue. */
export interface AnnotationQueueItem extends QueuedCall {
  id: string;
  project_id: string;
  queue_id: string;
  display_fields: string[];
  /** What an annotator set last, whoever it was. */
  annotation_state: AnnotationState;
  /** Who set it; null while it is `unstarted`. */
  annotator_user_id: string | null;
  /** Id of the user. */
  added_by: string;
  created_at: bigint;
  updated_at: bigint;
  /** 1-based; only when it was asked for. */
  position_in_queue?: number;
}

export const queueColumns =
  "id, project_id, name, description, scorer_refs, created_at, created_by, updated_at, deleted_at";

export const itemColumns = `id, project_id, queue_id, call_id, call_started_at, call_ended_at, call_op_name,
  call_trace_id, display_fields, annotation_state, annotator_user_id, added_by, created_at, updated_at`;

export function queueOf(row: Row): AnnotationQueue {
  return {
    id: textOf(row, "id"),
    project_id: textOf(row, "project_id"),
    name: textOf(row, "name"),
    description: originalText(textOf(row, "description")),
    scorer_refs: JSON.parse(textOf(row, "scorer_refs")) as string[],
    created_at: integerOf(row, "created_at"),
    created_by: textOf(row, "created_by"),
    updated_at: integerOf(row, "updated_at"),
    deleted_at: row["deleted_at"] === null ? null : integerOf(row, "deleted_at"),
  };
}

export function itemOf(row: Row): AnnotationQueueItem {
  const position = row["position_in_queue"];
  return {
    id: textOf(row, "id"),
    project_id: textOf(row, "project_id"),
    queue_id: textOf(row, "queue_id"),
    call_id: originalText(textOf(row, "call_id")),
    call_started_at: integerOf(row, "call_started_at"),
    call_ended_at: row["call_ended_at"] === null ? null : integerOf(row, "call_ended_at"),
    call_op_name: originalText(textOf(row, "call_op_name")),
    call_trace_id: originalText(textOf(row, "call_trace_id")),
    display_fields: JSON.parse(textOf(row, "display_fields")) as string[],
    annotation_state: toState(textOf(row, "annotation_state")),
    annotator_user_id: row["annotator_user_id"] === null ? null : textOf(row, "annotator_user_id"),
    added_by: textOf(row, "added_by"),
    created_at: integerOf(row, "created_at"),
    updated_at: integerOf(row, "updated_at"),
    ...(typeof position === "bigint" && { position_in_queue: Number(position) }),
  };
}

/** Moments: as people read them, and on a clock that is never set, by which claims end. */
export interface Moments {
  now: bigint;
  steady: bigint;
}
