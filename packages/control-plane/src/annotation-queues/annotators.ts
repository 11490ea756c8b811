import type { Database } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { isStorable } from "../database/names.js";
import { batches, Parameters } from "../database/parameters.js";

/** What one annotator has done in one queue. */
export interface AnnotatorStats {
  user_id: string;
  name: string;
  completed: number;
  skipped: number;
}

/** Who has completed or skipped how many items of each queue, the most first; queues without any are absent. */
export async function annotatorStats(
  database: Database,
  projectId: string,
  queueIds: readonly string[],
): Promise<Map<string, AnnotatorStats[]>> {
  const found = new Map<string, AnnotatorStats[]>();
  for (const some of batches([...new Set(queueIds)].filter(isStorable))) {
    const p = new Parameters();
    const sql = `SELECT i.queue_id, u.id, u.name,
        SUM(CASE WHEN p.annotation_state = 'completed' THEN 1 ELSE 0 END) AS completed,
        SUM(CASE WHEN p.annotation_state = 'skipped' THEN 1 ELSE 0 END) AS skipped
      FROM annotation_queue_items AS i
        JOIN annotation_queues AS q ON q.id = i.queue_id AND q.deleted_at IS NULL
        JOIN annotation_queue_progress AS p ON p.project_id = i.project_id AND p.item_id = i.id
        JOIN users AS u ON u.id = p.annotator_user_id
      WHERE i.project_id = ${p.bind(projectId)} AND i.queue_id IN (${some.map((id) => p.bind(id)).join(", ")})
        AND p.annotation_state <> 'in_progress'
      GROUP BY i.queue_id, u.id, u.name ORDER BY COUNT(*) DESC, u.name`;
    for (const row of await database.rows(sql, p.values)) {
      const queueId = textOf(row, "queue_id");
      const annotators = found.get(queueId) ?? [];
      annotators.push({
        user_id: textOf(row, "id"),
        name: textOf(row, "name"),
        completed: Number(integerOf(row, "completed")),
        skipped: Number(integerOf(row, "skipped")),
      });
      found.set(queueId, annotators);
    }
  }
  return found;
}
