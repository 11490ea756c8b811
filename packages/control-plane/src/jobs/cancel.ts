import type { Database } from "../database.js";
import { textOf } from "../database.js";
import { batches, Parameters } from "../parameters.js";
import { originalText, storedText } from "../stored-text.js";

/** Cancels the jobs and returns the ids of those that a runner has, which are only marked. */
export async function cancelJobs(
  database: Database,
  projectId: string,
  ids: readonly string[],
  now: bigint,
): Promise<string[]> {
  const running: string[] = [];
  for (const batch of batches(ids)) {
    const conditions = (p: Parameters) =>
      `project_id = ${p.bind(projectId)} AND id IN (${batch.map((id) => p.bind(storedText(id))).join(", ")})`;
    await database.transaction(async (statements) => {
      const ended = new Parameters();
      await statements.run(
        `UPDATE jobs SET state = 'cancelled', ended_at = ${ended.bind(now)}
          WHERE ${conditions(ended)} AND state = 'queued'`,
        ended.values,
      );
      const marked = new Parameters();
      const rows = await statements.rows(
        `UPDATE jobs SET cancel_requested = 1 WHERE ${conditions(marked)} AND state = 'running' RETURNING id`,
        marked.values,
      );
      running.push(...rows.map((row) => originalText(textOf(row, "id"))));
    });
  }
  return running;
}
