import { HeddleError } from "@heddle/errors";
import type { Database } from "../database/database.js";
import { findItem } from "./items.js";
import { claimItem, progressOf } from "./progress.js";
import type { AnnotationQueueItem, Moments } from "./records.js";
import { isFinal } from "./states.js";
import { queueSubject } from "./queues.js";

export interface ReopenRequest {
  project_id: string;
  queue_id: string;
  item_id: string;
  annotator_user_id: string;
  /** How long the claim is valid, in microseconds. */
  lease_us: bigint;
}

export interface Reopened {
  item: AnnotationQueueItem;
  /** Microseconds since 1970; null where the annotator has not begun the item. */
  claimed_until: bigint | null;
}

/**
 * Takes back that an annotator has completed or skipped an item, and claims it for them again. Of an item in progress the claim
 * is made anew; one that they have not begun stays as it is. Throws `invalid` for an item that is not in the queue.
 */
export async function reopenItem(
  database: Database,
  request: ReopenRequest,
  { now, steady }: Moments,
): Promise<Reopened> {
  const { project_id, queue_id, item_id, annotator_user_id: annotator } = request;
  return await database.transaction(async (statements) => {
    const item = await findItem(statements, project_id, queue_id, item_id);
    if (item === undefined) {
      throw new HeddleError("invalid", `there is no item ${item_id} in the annotation queue ${queue_id}`, {
        loc: ["item_id"],
      });
    }
    const states = await progressOf(statements, item);
    const state = states.get(annotator);
    if (state === undefined) return { item, claimed_until: null };
    states.delete(annotator);
    if (isFinal(state) && ![...states.values()].some(isFinal)) {
      await statements.run(
        "UPDATE annotation_queues SET completed_items = completed_items - 1 WHERE project_id = $1 AND id = $2",
        [project_id, queue_id],
      );
    }
    const until = steady + request.lease_us;
    return { item: await claimItem(statements, item, { annotator, until, now }), claimed_until: until };
  }, queueSubject(queue_id));
}
