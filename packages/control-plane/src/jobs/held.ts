import type { Database } from "../database.js";
import { integerOf } from "../database.js";
import { storedText } from "../stored-text.js";
import type { ClaimedJob, JobOutcome, JobProgress } from "./records.js";

/** Names a claim. Once another runner has claimed the job, it names nothing. */
export type JobHold = Pick<ClaimedJob, "id" | "lease_token">;

export interface JobRenewal {
  /** How long the claim is valid from now, in microseconds. */
  lease_us: bigint;
  progress: JobProgress;
}

export interface GiveBack {
  /** Microseconds until the job can be claimed again. */
  delay_us: bigint;
  /** Whether the attempt counts. One that ended because the runner stops, or because a store was away, does not. */
  counted: boolean;
}

const held = "id = $1 AND lease_token = $2 AND state = 'running'";
const holdParams = ({ id, lease_token }: JobHold): [string, string] => [storedText(id), lease_token];

export async function renewJob(
  database: Database,
  hold: JobHold,
  { lease_us, progress }: JobRenewal,
  now: bigint,
): Promise<"held" | "cancelled" | "lost"> {
  const total = progress.total === null ? null : BigInt(progress.total);
  const [row] = await database.rows(
    `UPDATE jobs SET lease_until = $3, progress_completed = $4, progress_total = $5 WHERE ${held}
      RETURNING cancel_requested`,
    [...holdParams(hold), now + lease_us, BigInt(progress.completed), total],
  );
  if (row === undefined) return "lost";
  return integerOf(row, "cancel_requested") === 0n ? "held" : "cancelled";
}

/** A job that was cancelled meanwhile stays `running` with a lease that has ended: the next claim ends it. */
export async function giveBackJob(
  database: Database,
  hold: JobHold,
  { delay_us, counted }: GiveBack,
  now: bigint,
): Promise<boolean> {
  const rows = await database.rows(
    `UPDATE jobs SET available_at = $3, attempts = attempts - $4, lease_token = NULL,
        state = CASE WHEN cancel_requested = 1 THEN 'running' ELSE 'queued' END, lease_until = $5
      WHERE ${held} RETURNING id`,
    [...holdParams(hold), now + delay_us, counted ? 0n : 1n, now],
  );
  return rows.length > 0;
}

export async function finishJob(
  database: Database,
  hold: JobHold,
  { outcome, error }: { outcome: JobOutcome; error: string | undefined },
  now: bigint,
): Promise<boolean> {
  const rows = await database.rows(
    `UPDATE jobs SET state = $3, error = $4, ended_at = $5, lease_token = NULL, lease_until = NULL WHERE ${held}
      RETURNING id`,
    [...holdParams(hold), outcome, error === undefined ? null : storedText(error), now],
  );
  return rows.length > 0;
}
