import { HeddleError } from "@heddle/errors";
import type { Database, Statements } from "../database/database.js";
import { textOf } from "../database/database.js";
import { findItem } from "./items.js";
import { itemColumns, itemOf } from "./records.js";
import type { AnnotationQueueItem } from "./records.js";
import { isChange, isFinal, toProgressState, toState } from "./states.js";
import type { AnnotationState, ProgressState } from "./states.js";
import { queueSubject } from "./queues.js";

export interface ProgressUpdate {
  project_id: string;
  queue_id: string;
  item_id: string;
  annotator_user_id: string;
  /** Unchecked. */
  annotation_state: string;
}

/**
 * Sets how far one annotator is with an item. Throws `invalid` for an item that is not in the queue, and for a state
 * that cannot be set.
 */
export async function updateProgress(
  database: Database,
  update: ProgressUpdate,
  now: bigint,
): Promise<AnnotationQueueItem> {
  const { project_id, queue_id, item_id, annotator_user_id } = update;
  const to = toProgressState(update.annotation_state);
  return await database.transaction(async (statements) => {
    const item = await findItem(statements, project_id, queue_id, item_id);
    if (item === undefined) {
      throw new HeddleError("invalid", `there is no item ${item_id} in the annotation queue ${queue_id}`, {
        loc: ["item_id"],
      });
    }
    const states = await progressOf(statements, item);
    if (!isChange(states.get(annotator_user_id) ?? "unstarted", to)) return item;
    await recordProgress(statements, item, annotator_user_id, to, now);
    if (!isFinal(to)) return await changeItem(statements, item, "", [annotator_user_id, to, now]);
    if (![...states.values()].some(isFinal)) {
      await statements.run(
        "UPDATE annotation_queues SET completed_items = completed_items + 1 WHERE project_id = $1 AND id = $2",
        [project_id, queue_id],
      );
    }
    return await changeItem(statements, item, ", claimed_by = NULL, claimed_until = NULL", [
      annotator_user_id,
      to,
      now,
    ]);
  }, queueSubject(queue_id));
}

/** The item in progress for an annotator until a time: afterwards it can be claimed by others. */
export async function claimItem(
  statements: Statements,
  item: AnnotationQueueItem,
  { annotator, until, now }: { annotator: string; until: bigint; now: bigint },
): Promise<AnnotationQueueItem> {
  await recordProgress(statements, item, annotator, "in_progress", now);
  const values = [annotator, "in_progress", now, until];
  return await changeItem(statements, item, ", claimed_by = $3, claimed_until = $6", values);
}

/** The state of each annotator who has one. */
export async function progressOf(
  statements: Statements,
  { project_id, id }: AnnotationQueueItem,
): Promise<Map<string, AnnotationState>> {
  const rows = await statements.rows(
    "SELECT annotator_user_id, annotation_state FROM annotation_queue_progress WHERE project_id = $1 AND item_id = $2",
    [project_id, id],
  );
  return new Map(rows.map((row) => [textOf(row, "annotator_user_id"), toState(textOf(row, "annotation_state"))]));
}

async function recordProgress(
  statements: Statements,
  { project_id, id }: AnnotationQueueItem,
  annotator: string,
  state: ProgressState,
  now: bigint,
): Promise<void> {
  await statements.run(
    `INSERT INTO annotation_queue_progress (project_id, item_id, annotator_user_id, annotation_state, created_at,
        updated_at)
      VALUES ($1, $2, $3, $4, $5, $5)
      ON CONFLICT (project_id, item_id, annotator_user_id)
        DO UPDATE SET annotation_state = excluded.annotation_state, updated_at = excluded.updated_at`,
    [project_id, id, annotator, state, now],
  );
}

/** `values` are `$3` and on: annotator, state, time. */
async function changeItem(
  statements: Statements,
  { project_id, id }: AnnotationQueueItem,
  assignments: string,
  values: ReadonlyArray<string | bigint>,
): Promise<AnnotationQueueItem> {
  const [row] = await statements.rows(
    `UPDATE annotation_queue_items SET annotator_user_id = $3, annotation_state = $4, updated_at = $5${assignments}
      WHERE project_id = $1 AND id = $2 RETURNING ${itemColumns}`,
    [project_id, id, ...values],
  );
  return itemOf(row ?? {});
}
