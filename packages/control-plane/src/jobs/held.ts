import type { Database } from "../database/database.js";
import { integerOf } from "../database/database.js";
import { storedText } from "../database/stored-text.js";
import { releaseSerial } from "./serial.js";
import { nextTurn, ownerColumns, ownerOf } from "./turns.js";
import { beatOf } from "./lease-watch.js";
import type { LeaseWatch } from "./lease-watch.js";
import type { ClaimedJob, JobOutcome, JobProgress } from "./records.js";

/** Names a claim. Once another runner has claimed the job, it names nothing. */
export type JobHold = Pick<ClaimedJob, "id" | "lease_token"> & Partial<Pick<ClaimedJob, "cancel_requested">>;

/** No job waits longer before it can be claimed again. */
export const longestDelayUs = 60_000_000n;

export interface GiveBack {
  /** Microseconds until the job can be claimed again, a minute at most. */
  delay_us: bigint;
  /** Whether the attempt counts. One that ended because the runner stops, or because a store was away, does not. */
  counted: boolean;
}

const held = "id = $1 AND lease_token = $2 AND state = 'running'";
const holdParams = ({ id, lease_token }: JobHold): [string, string] => [storedText(id), lease_token];

export async function renewJob(
  database: Database,
  hold: JobHold,
  progress: JobProgress,
  watch: LeaseWatch,
): Promise<"held" | "cancelled" | "lost"> {
  const total = progress.total === null ? null : BigInt(progress.total);
  const [row] = await database.rows(
    `UPDATE jobs SET beat = beat + 1, progress_completed = $3, progress_total = $4,
        attempts = CASE WHEN progress_completed < $3 THEN 1 ELSE attempts END
      WHERE ${held} RETURNING id, lease_token, beat, cancel_requested`,
    [...holdParams(hold), BigInt(progress.completed), total],
  );
  if (row === undefined) return "lost";
  watch.note(beatOf(row));
  return integerOf(row, "cancel_requested") === 0n ? "held" : "cancelled";
}

/** A job that was cancelled meanwhile can be claimed at once, to be ended. */
export async function giveBackJob(
  database: Database,
  hold: JobHold,
  { delay_us, counted }: GiveBack,
  now: bigint,
): Promise<boolean> {
  return await database.transaction(async (statements) => {
    const [row] = await statements.rows(
      `UPDATE jobs SET state = 'queued', available_at = $3, attempts = attempts - $4, lease_token = NULL,
          waits_for = CASE WHEN cancel_requested > $6 THEN NULL ELSE $5 END
        WHERE ${held} RETURNING ${ownerColumns}`,
      [
        ...holdParams(hold),
        now + (delay_us < longestDelayUs ? delay_us : longestDelayUs),
        counted ? 0n : 1n,
        delay_us > 0n ? "time" : null,
        hold.cancel_requested === true ? 1n : 0n,
      ],
    );
    if (row === undefined) return false;
    const turn = await nextTurn(statements, ownerOf(row));
    await statements.run("UPDATE jobs SET turn = $2 WHERE id = $1", [storedText(hold.id), turn]);
    return true;
  });
}

export async function finishJob(
  database: Database,
  hold: JobHold,
  { outcome, error }: { outcome: JobOutcome; error: string | undefined },
  now: bigint,
): Promise<boolean> {
  return await database.transaction(async (statements) => {
    const [row] = await statements.rows(
      `UPDATE jobs SET state = $3, error = $4, ended_at = $5, lease_token = NULL WHERE ${held}
        RETURNING serial_key`,
      [...holdParams(hold), outcome, error === undefined ? null : storedText(error), now],
    );
    const key = row?.["serial_key"];
    if (typeof key === "string") await releaseSerial(statements, new Set([key]));
    return row !== undefined;
  });
}
