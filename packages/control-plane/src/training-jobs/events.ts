import { randomUUID } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { Database, Statements } from "../database/database.js";
import { integerOf } from "../database/database.js";
import { storedText } from "../database/stored-text.js";
import { addDeliveries, trainingJobEnded } from "../webhooks/notify.js";
import { trainingEventOf, warningsOf } from "./records.js";
import type { TrainingEventRecord, TrainingEventType } from "./records.js";

export interface EventPageRequest {
  job_id: string;
  /** Id of the event before the page. */
  after?: string;
  limit: number;
}

/**
 * What a job reports before it ends. `index` is that of the gradient step, from 0; `warnings` are added to those of the
 * job.
 */
export type TrainingProgress =
  | { type: "training_started"; num_sequences: number; data: string; warnings?: readonly string[] }
  | { type: "gradient_step"; index: number; data: string; warnings?: readonly string[] };

/**
 * Stores an event, unless an earlier attempt of the job has stored it. Returns false for a job that does not run any
 * more: the event is not stored.
 */
export async function addTrainingEvent(
  database: Database,
  jobId: string,
  event: TrainingProgress,
  now: bigint,
): Promise<boolean> {
  const started = event.type === "training_started";
  return await database.transaction(async (statements) => {
    const [running] = await statements.rows(
      started
        ? "UPDATE training_jobs SET num_sequences = $2 WHERE id = $1 AND state = 'running' RETURNING warnings"
        : `UPDATE training_jobs SET completed_sequences = CASE WHEN completed_sequences > $2 THEN completed_sequences
            ELSE $2 END WHERE id = $1 AND state = 'running' RETURNING warnings`,
      [jobId, BigInt(started ? event.num_sequences : event.index + 1)],
    );
    if (running === undefined) return false;
    await addWarnings(statements, jobId, warningsOf(running), event.warnings ?? []);
    await insertEvent(statements, { ...event, job_id: jobId, sequence: started ? 0 : event.index + 1 }, now);
    return true;
  });
}

/** Adds those that an earlier attempt has not added. */
async function addWarnings(
  statements: Statements,
  jobId: string,
  known: readonly string[],
  found: readonly string[],
): Promise<void> {
  const all = [...new Set([...known, ...found])];
  if (all.length === known.length) return;
  const values = [jobId, storedText(JSON.stringify(all))];
  await statements.run("UPDATE training_jobs SET warnings = $2 WHERE id = $1", values);
}

/** Stores the last event of a job that has ended, after all others, and what is sent to the webhooks of its project. */
export async function addTerminalEvent(
  statements: Statements,
  jobId: string,
  event: { type: "training_ended" | "training_failed"; data: string },
  now: bigint,
): Promise<void> {
  const [row] = await statements.rows(
    "SELECT COALESCE(MAX(sequence), 0) + 1 AS next FROM training_events WHERE job_id = $1",
    [jobId],
  );
  if (row === undefined) throw new TypeError("an aggregate returned no row");
  await insertEvent(statements, { ...event, job_id: jobId, sequence: Number(integerOf(row, "next")) }, now);
  await addDeliveries(statements, await trainingJobEnded(statements, jobId), now);
}

async function insertEvent(
  statements: Statements,
  { job_id, sequence, type, data }: { job_id: string; sequence: number; type: TrainingEventType; data: string },
  now: bigint,
): Promise<void> {
  await statements.run(
    `INSERT INTO training_events (id, job_id, sequence, type, data, created_at) VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (job_id, sequence) DO NOTHING`,
    [randomUUID(), job_id, BigInt(sequence), type, storedText(data), now],
  );
}

/** Returns the events of a job in their order. Throws `invalid` for a cursor that is not an event of the job. */
export async function pageOfEvents(
  database: Database,
  { job_id: jobId, after, limit }: EventPageRequest,
): Promise<TrainingEventRecord[]> {
  let last = -1n;
  if (after !== undefined) {
    const sql = "SELECT sequence FROM training_events WHERE job_id = $1 AND id = $2";
    const [row] = await database.rows(sql, [jobId, storedText(after)]);
    if (row === undefined) throw new HeddleError("invalid", "there is no such event of this job", { loc: ["after"] });
    last = integerOf(row, "sequence");
  }
  const rows = await database.rows(
    "SELECT id, type, data, created_at FROM training_events WHERE job_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3",
    [jobId, last, BigInt(limit)],
  );
  return rows.map(trainingEventOf);
}

/** What earlier attempts of a job have reported. */
export async function reportedEvents(
  database: Database,
  jobId: string,
): Promise<{ started: boolean; gradientSteps: number }> {
  const rows = await database.rows(
    "SELECT type, COUNT(*) AS events FROM training_events WHERE job_id = $1 GROUP BY type",
    [jobId],
  );
  const counts = new Map(rows.map((row) => [row["type"], Number(integerOf(row, "events"))]));
  return { started: counts.has("training_started"), gradientSteps: counts.get("gradient_step") ?? 0 };
}
