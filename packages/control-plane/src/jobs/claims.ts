import { randomUUID } from "node:crypto";
import type { Database, Row, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { Parameters } from "../database/parameters.js";
import { claimedJobOf, jobColumns } from "./records.js";
import type { ClaimedJob } from "./records.js";
import { longestDelayUs } from "./held.js";
import { beatOf } from "./lease-watch.js";
import type { LeaseBeat, LeaseWatch } from "./lease-watch.js";
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
  /** A job whose claim was not renewed for so long, in microseconds, is claimed like one that waits. */
  lease_us: bigint;
}

/** The clock of the process, in microseconds since 1970, and what it knows of claims. */
export interface ClaimClocks {
  now: bigint;
  watch: LeaseWatch;
}

/** The job of a key that is claimed next. */
export type WaitingJob = Omit<JobOwner, "pool">;

export async function claimJob(
  database: Database,
  request: JobClaimRequest,
  clocks: ClaimClocks,
): Promise<ClaimedJob | undefined> {
  const { kinds, pool = "", full, lease_us } = request;
  if (kinds.length === 0) return undefined;
  return await database.transaction(async (statements) => {
    await returnDue(statements, lease_us, clocks);
    for (const key of await keysInTurn(statements, pool, full)) {
      const head = await headOf(statements, { ...key, pool }, kinds);
      if (head === undefined) continue;
      const { id, turn } = await oldestOf(statements, { ...key, pool, project_id: head.project_id }, kinds);
      // Each job has a turn of its own, and the jobs of a project use theirs in the order of their creation.
      await statements.run("UPDATE jobs SET turn = $2 WHERE id = $1", [head.id, turn]);
      return await hold(statements, { id, turn: head.turn }, clocks);
    }
    return undefined;
  });
}

/** Claims a job that was cancelled after a runner had begun with it, or whose key was revoked. */
export async function claimCancelledJob(
  database: Database,
  { kinds, lease_us }: Pick<JobClaimRequest, "kinds" | "lease_us">,
  clocks: ClaimClocks,
): Promise<ClaimedJob | undefined> {
  if (kinds.length === 0) return undefined;
  return await database.transaction(async (statements) => {
    await returnDue(statements, lease_us, clocks);
    const p = new Parameters();
    const [row] = await statements.rows(
      `SELECT id, turn FROM jobs j WHERE state = 'queued' AND waits_for IS NULL AND cancel_requested = 1
          AND ${kindCondition(p, kinds)} LIMIT 1`,
      p.values,
    );
    if (row === undefined) return undefined;
    return await hold(statements, { id: textOf(row, "id"), turn: integerOf(row, "turn") }, clocks);
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
  { id, turn }: { id: string; turn: bigint },
  { now, watch }: ClaimClocks,
): Promise<ClaimedJob | undefined> {
  // Later than every other claim, also when the clock was set back: whose last claim is longest ago is next.
  const [last] = await statements.rows("SELECT MAX(claimed_at) AS last FROM jobs WHERE claimed_at IS NOT NULL", []);
  const latest = last?.["last"];
  const claimedAt = typeof latest === "bigint" && latest >= now ? latest + 1n : now;
  const [row] = await statements.rows(
    `UPDATE jobs SET state = 'running', attempts = attempts + 1, lease_token = $2, beat = 0, claimed_at = $3, turn = $4
      WHERE id = $1 RETURNING ${jobColumns}`,
    [id, randomUUID(), claimedAt, turn],
  );
  if (row === undefined) return undefined;
  watch.note({ id, lease_token: textOf(row, "lease_token"), beat: 0n });
  return claimedJobOf(row);
}

/** Puts back what has waited for its time, and what a runner has that does not renew its claim. */
async function returnDue(statements: Statements, leaseUs: bigint, { now, watch }: ClaimClocks): Promise<void> {
  // What is due later than any delay was given a time by a clock that has been set back since.
  await statements.run(
    `UPDATE jobs SET waits_for = NULL
      WHERE state = 'queued' AND waits_for = 'time' AND (available_at <= $1 OR available_at > $2)`,
    [now, now + longestDelayUs],
  );
  for (const { id, lease_token, beat } of watch.ended(await runningJobs(statements), leaseUs)) {
    await statements.run(
      `UPDATE jobs SET state = 'queued', lease_token = NULL
        WHERE id = $1 AND lease_token = $2 AND beat = $3 AND state = 'running'`,
      [id, lease_token, beat],
    );
  }
}

const runningJobs = async (statements: Statements): Promise<LeaseBeat[]> =>
  (await statements.rows("SELECT id, lease_token, beat FROM jobs WHERE state = 'running'", [])).map(beatOf);

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
 * Milliseconds until a job of the kinds can be claimed that cannot be now by itself: its delay ends, or the claim of it is
 * not renewed.
 */
export async function msToNextDue(
  database: Database,
  { kinds, lease_us }: Pick<JobClaimRequest, "kinds" | "lease_us">,
  { now, watch }: ClaimClocks,
): Promise<number | undefined> {
  if (kinds.length === 0) return undefined;
  const p = new Parameters();
  const ofKinds = kindCondition(p, kinds);
  const [delayed]: Row[] = await database.rows(
    `SELECT MIN(available_at) AS due FROM jobs WHERE state = 'queued' AND waits_for = 'time' AND ${ofKinds}`,
    p.values,
  );
  const running = await database.rows(
    `SELECT id, lease_token, beat FROM jobs WHERE state = 'running' AND ${ofKinds}`,
    p.values,
  );
  const due = delayed?.["due"];
  const times = [
    ...(typeof due === "bigint" ? [Math.max(0, Number(due - now) / 1000)] : []),
    watch.msToEnd(running.map(beatOf), lease_us) ?? [],
  ].flat();
  return times.length === 0 ? undefined : Math.min(...times);
}
