import type { Database } from "../database/database.js";
import { isStorable } from "../database/names.js";
import { Parameters } from "../database/parameters.js";
import { queueSubject, requireQueue } from "./queues.js";
import type { Moments } from "./records.js";

export interface ReleaseRequest {
  project_id: string;
  queue_id: string;
  item_ids: readonly string[];
  annotator_user_id: string;
}

/**
 * Ends the valid claims that an annotator has on items, as if they had run out now. The number of them. Throws `not_found` for a
 * queue that is not there.
 */
export async function releaseItems(
  database: Database,
  { project_id, queue_id, item_ids, annotator_user_id }: ReleaseRequest,
  { steady }: Moments,
): Promise<number> {
  const ids = item_ids.filter(isStorable);
  return await database.transaction(async (statements) => {
    await requireQueue(statements, project_id, queue_id);
    if (ids.length === 0) return 0;
    const p = new Parameters();
    const sql = `UPDATE annotation_queue_items SET claimed_until = ${p.bind(steady)}
      WHERE project_id = ${p.bind(project_id)} AND queue_id = ${p.bind(queue_id)}
        AND claimed_by = ${p.bind(annotator_user_id)} AND claimed_until > ${p.bind(steady)}
        AND id IN (${ids.map((id) => p.bind(id)).join(", ")}) RETURNING id`;
    return (await statements.rows(sql, p.values)).length;
  }, queueSubject(queue_id));
}
