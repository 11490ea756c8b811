import { HeddleError } from "@heddle/errors";
import type { Database } from "../database/database.js";
import type { Claim } from "./claims.js";
import { findItem } from "./items.js";
import { claimItem, progressOf } from "./progress.js";
import { isFinal } from "./states.js";

export interface ReopenRequest {
  project_id: string;
  queue_id: string;
  item_id: string;
  annotator_user_id: string;
  /** How long the claim is valid, in microseconds. */
  lease_us: bigint;
}

/**
 * Takes back that an annotator has completed or skipped an item, and claims it for them again. Of an item in progress the claim
 * is made anew. Throws `invalid` for an item that is not in the queue, and for one that the annotator has not begun.
 */
export async function reopenItem(database: Database, request: ReopenRequest, now: bigint): Promise<Claim> {
  const { project_id, queue_id, item_id, annotator_user_id: annotator } = request;
  const refuse = (reason: string) => new HeddleError("invalid", reason, { loc: ["item_id"] });
  return await database.transaction(async (statements) => {
    const item = await findItem(statements, project_id, queue_id, item_id);
    if (item === undefined) throw refuse(`there is no item ${item_id} in the annotation queue ${queue_id}`);
    const states = await progressOf(statements, item);
    const state = states.get(annotator);
    if (state === undefined) throw refuse("only an item that you have completed or skipped can be reopened");
    states.delete(annotator);
    if (isFinal(state) && ![...states.values()].some(isFinal)) {
      await statements.run(
        "UPDATE annotation_queues SET completed_items = completed_items - 1 WHERE project_id = $1 AND id = $2",
        [project_id, queue_id],
      );
    }
    const until = now + request.lease_us;
    return { item: await claimItem(statements, item, { annotator, until, now }), claimed_until: until };
  });
}
