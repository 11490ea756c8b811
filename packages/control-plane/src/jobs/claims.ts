import { randomUUID } from "node:crypto";
import type { Database, Row, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { Parameters } from "../database/parameters.js";
import { claimedJobOf, jobColumns } from "./records.js";
import type { ClaimedJob } from "./records.js";
import { keysInTurn } from "./keys-in-turn.js";
import type { FullShares } from "./keys-in-turn.js";
import { isReady, ofKey } from "./turns.js";
import type { JobOwner } from "./turns.js";

export interface JobClaimRequest {
  /** Kinds that the runner can run now. */
  kinds: readonly string[];
  /** Pool of the jobs; default: that of jobs that were added without one. */
  pool?: string;
  /** Who gets no further job now. */
  full?: FullShares;
  /** How long the claim is valid unless it is renewed, in microseconds. */
  lease_us: bigint;
}

/** The job of a key that is claimed next. */
export type WaitingJob = Omit<JobOwner, "pool">;

export async function claimJob(
  database: Database,
  request: JobClaimRequest,
  now: bigint,
): Promise<ClaimedJob | undefined> {
  const { kinds, pool = "", full, lease_us } = request;
  if (kinds.length === 0) return undefined;
  return await database.transaction(async (statements) => {
    await returnDue(statements, now);
    for (const key of await keysInTurn(statements, pool, full)) {
      const head = await headOf(statements, { ...key, pool }, kinds);
      if (head === undefined) continue;
      const { id, turn } = await oldestOf(statements, { ...key, pool, project_id: head.project_id }, kinds);
      // Each job has a turn of its own, and the jobs of a project use theirs in the order of their creation.
      await statements.run("UPDATE jobs SET turn = $2 WHERE id = $1", [head.id, turn]);
      return await hold(statements, { id, turn: head.turn, lease_us }, now);
    }
    return undefined;
  });
}

/** Claims a job that was cancelled after a runner had begun with it, or whose key was revoked. */
export async function claimCancelledJob(
  database: Database,
  { kinds, lease_us }: Pick<JobClaimRequest, "kinds" | "lease_us">,
  now: bigint,
): Promise<ClaimedJob | undefined> {
  if (kinds.length === 0) return undefined;
  return await database.transaction(async (statements) => {
    await returnDue(statements, now);
    const p = new Parameters();
    const [row] = await statements.rows(
      `SELECT id, turn FROM jobs j WHERE state = 'queued' AND waits_for IS NULL AND cancel_requested = 1
          AND ${kindCondition(p, kinds)} LIMIT 1`,
      p.values,
    );
    if (row === undefined) return undefined;
    return await hold(statements, { id: textOf(row, "id"), turn: integerOf(row, "turn"), lease_us }, now);
  });
}

/** The next job of each key that has one which could run, in the order of their turns. */
export async function waitingJobs(
  database: Database,
  { kinds, pool = "", full }: Omit<JobClaimRequest, "lease_us">,
): Promise<WaitingJob[]> {
  const found: WaitingJob[] = [];
  for (const { entity, key_id } of await keysInTurn(database, pool, full)) {
    const head = await headOf(database, { pool, entity, key_id }, kinds);
    if (head !== undefined) found.push({ entity, key_id, project_id: head.project_id });
  }
  return found;
}

async function hold(
  statements: Statements,
  { id, turn, lease_us }: { id: string; turn: bigint; lease_us: bigint },
  now: bigint,
): Promise<ClaimedJob | undefined> {
  const [row] = await statements.rows(
    `UPDATE jobs SET state = 'running', attempts = attempts + 1, lease_token = $2, lease_until = $3, claimed_at = $4,
        turn = $5 WHERE id = $1 RETURNING ${jobColumns}`,
    [id, randomUUID(), now + lease_us, now, turn],
  );
  return row && claimedJobOf(row);
}

/** Puts back what has waited for its time, and what a runner has that does not renew its claim. */
async function returnDue(statements: Statements, now: bigint): Promise<void> {
  await statements.run(
    "UPDATE jobs SET waits_for = NULL WHERE state = 'queued' AND waits_for = 'time' AND available_at <= $1",
    [now],
  );
  await statements.run(
    `UPDATE jobs SET state = 'queued', lease_token = NULL, lease_until = NULL
      WHERE state = 'running' AND lease_until <= $1`,
    [now],
  );
}

/** The job of a key with the lowest turn: its project is next. */
async function headOf(
  statements: Statements,
  key: Omit<JobOwner, "project_id">,
  kinds: readonly string[],
): Promise<{ id: string; project_id: string; turn: bigint } | undefined> {
  const p = new Parameters();
  const [row] = await statements.rows(
    `SELECT id, project_id, turn FROM jobs j WHERE ${ofKey(p, key)} AND ${isReady} AND ${kindCondition(p, kinds)}
      ORDER BY turn, sequence LIMIT 1`,
    p.values,
  );
  return row && { id: textOf(row, "id"), project_id: textOf(row, "project_id"), turn: integerOf(row, "turn") };
}

async function oldestOf(
  statements: Statements,
  owner: JobOwner,
  kinds: readonly string[],
): Promise<{ id: string; turn: bigint }> {
  const p = new Parameters();
  const [row] = await statements.rows(
    `SELECT id, turn FROM jobs j WHERE ${ofKey(p, owner)} AND project_id = ${p.bind(owner.project_id)}
      AND ${isReady} AND ${kindCondition(p, kinds)} ORDER BY sequence LIMIT 1`,
    p.values,
  );
  if (row === undefined) throw new TypeError("the project of a job has no job");
  return { id: textOf(row, "id"), turn: integerOf(row, "turn") };
}

function kindCondition(p: Parameters, kinds: readonly string[]): string {
  return `kind IN (${kinds.map((kind) => p.bind(kind)).join(", ")})`;
}

/**
 * The first time at which a job of the kinds can be claimed that cannot be now by itself: its delay or its lease ends.
 */
export async function nextDue(database: Database, kinds: readonly string[]): Promise<bigint | undefined> {
  if (kinds.length === 0) return undefined;
  const p = new Parameters();
  const [row]: Row[] = await database.rows(
    `SELECT MIN(due) AS due FROM (
        SELECT MIN(available_at) AS due FROM jobs
          WHERE state = 'queued' AND waits_for = 'time' AND ${kindCondition(p, kinds)}
        UNION ALL SELECT MIN(lease_until) AS due FROM jobs
          WHERE state = 'running' AND ${kindCondition(p, kinds)}) times`,
    p.values,
  );
  const due = row?.["due"];
  return typeof due === "bigint" ? due : undefined;
}
