import { HeddleError } from "@heddle/errors";
import type { Statements } from "../database/database.js";
import { storedText } from "../database/stored-text.js";
import { isSerialFree } from "./serial.js";
import { nextTurn } from "./turns.js";

export interface NewJob {
  /** The caller's choice; 1 to 256 characters. */
  id: string;
  project_id: string;
  kind: string;
  /** Jobs take turns in each pool by itself. */
  pool?: string | undefined;
  serial_key?: string;
  /** JSON text. */
  payload: string;
  /** The key that asks for it, and its entity, whose turn it is when the job runs. Absent: the entity of the project. */
  added_by?: { key_id: string; entity: string } | undefined;
}

/** Jobs of one key that may wait; undefined for any number. */
export type WaitingLimit = number | undefined;

/**
 * Adds a job to the end of the queue, inside of a transaction. Throws `conflict` for an id that was used before,
 * `forbidden` for a key that was revoked, and `rate_limited` if too many jobs of the key wait.
 */
export async function insertJob(
  statements: Statements,
  { id, project_id, kind, pool = "", serial_key, payload, added_by }: NewJob,
  { now, waitingPerKey }: { now: bigint; waitingPerKey: WaitingLimit },
): Promise<void> {
  const { entity, key_id } = added_by ?? { entity: project_id.split("/")[0] ?? "", key_id: "" };
  const serialKey = serial_key === undefined ? null : storedText(serial_key);
  const isFree = serialKey === null || (await isSerialFree(statements, serialKey));
  const added = await statements.rows(
    `INSERT INTO jobs (id, sequence, project_id, kind, serial_key, payload, state, attempts, available_at,
        cancel_requested, progress_completed, created_at, pool, entity, key_id, turn, waits_for)
      SELECT $1, COALESCE(MAX(sequence), 0) + 1, $2, $3, $4, $5, 'queued', 0, $6, 0, 0, $6, $7, $8, $9, $10, $11
        FROM jobs WHERE TRUE
      ON CONFLICT (id) DO NOTHING RETURNING id`,
    [
      storedText(id),
      project_id,
      kind,
      serialKey,
      storedText(payload),
      now,
      pool,
      entity,
      key_id,
      isFree ? await nextTurn(statements, { pool, entity, key_id, project_id }) : 0n,
      isFree ? null : "serial",
    ],
  );
  if (added.length === 0) throw new HeddleError("conflict", `a job has the id ${id}`, { loc: ["id"] });
  if (added_by !== undefined) await checkKey(statements, added_by, waitingPerKey);
}

/** Checks the key of a job that was just added. */
async function checkKey(
  statements: Statements,
  { entity, key_id }: { entity: string; key_id: string },
  most: WaitingLimit,
): Promise<void> {
  const [key] = await statements.rows("SELECT revoked_at FROM api_keys WHERE id = $1", [key_id]);
  if (key !== undefined && key["revoked_at"] !== null) throw new HeddleError("forbidden", "the API key was revoked");
  if (most === undefined) return;
  const tooMany = await statements.rows(
    "SELECT 1 AS found FROM jobs WHERE entity = $1 AND key_id = $2 AND state = 'queued' LIMIT 1 OFFSET $3",
    [entity, key_id, BigInt(most)],
  );
  if (tooMany.length > 0) {
    const message = `${most} jobs of this key wait, which is the most (HEDDLE_JOBS_WAITING)`;
    throw new HeddleError("rate_limited", message);
  }
}
