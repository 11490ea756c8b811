import type { Database, Statements } from "../database/database.js";
import { textOf } from "../database/database.js";
import { batches, Parameters } from "../database/parameters.js";
import { originalText, storedText } from "../database/stored-text.js";
import { releaseSerial } from "./serial.js";

/** Cancels the jobs and returns the ids of those that a runner has to end, because one has begun with them. */
export async function cancelJobs(
  database: Database,
  projectId: string,
  ids: readonly string[],
  now: bigint,
): Promise<string[]> {
  const begun: string[] = [];
  for (const batch of batches(ids)) {
    const conditions = (p: Parameters) =>
      `project_id = ${p.bind(projectId)} AND id IN (${batch.map((id) => p.bind(storedText(id))).join(", ")})`;
    await database.transaction(async (statements) => {
      const ended = new Parameters();
      // An ended job has no turn that others would have to wait for.
      const rows = await statements.rows(
        `UPDATE jobs SET state = 'cancelled', turn = 0, waits_for = NULL, ended_at = ${ended.bind(now)}
          WHERE ${conditions(ended)} AND state = 'queued' AND claimed_at IS NULL AND cancel_requested = 0
          RETURNING serial_key`,
        ended.values,
      );
      const keys = rows.map((row) => row["serial_key"]).filter((key) => typeof key === "string");
      const marked = new Parameters();
      const left = await statements.rows(
        `UPDATE jobs SET cancel_requested = 1, waits_for = NULL
          WHERE ${conditions(marked)} AND state IN ('queued', 'running') RETURNING id`,
        marked.values,
      );
      begun.push(...left.map((row) => originalText(textOf(row, "id"))));
      await releaseSerial(statements, new Set(keys));
    });
  }
  return begun;
}

/** Has runners end all jobs that a key has added. */
export async function cancelJobsOfKey(
  statements: Statements,
  { entity, key_id, reason }: { entity: string; key_id: string; reason: string },
): Promise<void> {
  await statements.run(
    `UPDATE jobs SET cancel_requested = 1, cancel_reason = COALESCE(cancel_reason, $3), waits_for = NULL
      WHERE entity = $1 AND key_id = $2 AND state IN ('queued', 'running') AND cancel_requested = 0`,
    [entity, key_id, reason],
  );
}
