import { HeddleError } from "@heddle/errors";
import type { Statements } from "../database.js";
import { storedText } from "../stored-text.js";

export interface NewJob {
  /** The caller's choice; 1 to 256 characters. */
  id: string;
  project_id: string;
  kind: string;
  serial_key?: string;
  /** JSON text. */
  payload: string;
}

/** Adds a job to the end of the queue, inside of a transaction. Throws `conflict` for an id that was used before. */
export async function insertJob(
  statements: Statements,
  { id, project_id, kind, serial_key, payload }: NewJob,
  now: bigint,
): Promise<void> {
  const added = await statements.rows(
    `INSERT INTO jobs (id, sequence, project_id, kind, serial_key, payload, state, attempts, available_at,
        cancel_requested, progress_completed, created_at)
      SELECT $1, COALESCE(MAX(sequence), 0) + 1, $2, $3, $4, $5, 'queued', 0, $6, 0, 0, $6 FROM jobs WHERE TRUE
      ON CONFLICT (id) DO NOTHING RETURNING id`,
    [
      storedText(id),
      project_id,
      kind,
      serial_key === undefined ? null : storedText(serial_key),
      storedText(payload),
      now,
    ],
  );
  if (added.length === 0) throw new HeddleError("conflict", `a job has the id ${id}`, { loc: ["id"] });
}
