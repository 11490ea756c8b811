import { randomUUID } from "node:crypto";
import type { Database, Row, Statements } from "../database.js";
import { textOf } from "../database.js";
import { Parameters } from "../parameters.js";
import { claimedJobOf, jobColumns } from "./records.js";
import type { ClaimedJob } from "./records.js";

export interface JobClaimRequest {
  /** Kinds that the runner can run now. */
  kinds: readonly string[];
  /** How long the claim is valid unless it is renewed, in microseconds. */
  lease_us: bigint;
}

export async function claimJob(
  database: Database,
  { kinds, lease_us }: JobClaimRequest,
  now: bigint,
): Promise<ClaimedJob | undefined> {
  if (kinds.length === 0) return undefined;
  return await database.transaction(async (statements) => {
    for (const projectId of await projectsInTurn(statements, kinds, now)) {
      const id = await firstDue(statements, projectId, kinds, now);
      if (id === undefined) continue;
      const [row] = await statements.rows(
        `UPDATE jobs SET state = 'running', attempts = attempts + 1, lease_token = $2, lease_until = $3, claimed_at = $4
          WHERE id = $1 RETURNING ${jobColumns}`,
        [id, randomUUID(), now + lease_us, now],
      );
      return row && claimedJobOf(row);
    }
    return undefined;
  });
}

/** The projects that have a job to claim, the next one to be served first. */
async function projectsInTurn(statements: Statements, kinds: readonly string[], now: bigint): Promise<string[]> {
  const p = new Parameters();
  const [lapsed, queued] = dueConditions.map((due) => `SELECT project_id FROM jobs j WHERE ${due(p, kinds, now)}`);
  const rows = await statements.rows(
    `SELECT project_id,
        (SELECT COUNT(*) FROM jobs r
          WHERE r.project_id = due.project_id AND r.state = 'running' AND r.lease_until > ${p.bind(now)}) AS running,
        (SELECT COALESCE(MAX(c.claimed_at), 0) FROM jobs c WHERE c.project_id = due.project_id) AS last_claim,
        (SELECT MIN(s.sequence) FROM jobs s WHERE s.project_id = due.project_id AND s.state = 'queued') AS first
      FROM (${lapsed} UNION ${queued}) due ORDER BY running, last_claim, first`,
    p.values,
  );
  return rows.map((row) => textOf(row, "project_id"));
}

async function firstDue(
  statements: Statements,
  projectId: string,
  kinds: readonly string[],
  now: bigint,
): Promise<string | undefined> {
  for (const due of dueConditions) {
    const p = new Parameters();
    const [row] = await statements.rows(
      `SELECT id FROM jobs j WHERE project_id = ${p.bind(projectId)} AND ${due(p, kinds, now)}
          AND (serial_key IS NULL OR NOT EXISTS (
            SELECT 1 FROM jobs earlier WHERE earlier.serial_key = j.serial_key
              AND earlier.state IN ('queued', 'running') AND earlier.sequence < j.sequence))
        ORDER BY sequence LIMIT 1`,
      p.values,
    );
    if (row !== undefined) return textOf(row, "id");
  }
  return undefined;
}

type Condition = (p: Parameters, kinds: readonly string[], now: bigint) => string;

/** Claims whose lease has ended, then jobs that wait: two conditions, because each has an index of its own. */
const dueConditions: readonly Condition[] = [
  (p, kinds, now) => `j.state = 'running' AND j.lease_until <= ${p.bind(now)} AND ${kindCondition(p, "j", kinds)}`,
  (p, kinds, now) => `j.state = 'queued' AND j.available_at <= ${p.bind(now)} AND ${kindCondition(p, "j", kinds)}`,
];

function kindCondition(p: Parameters, jobs: string, kinds: readonly string[]): string {
  return `${jobs}.kind IN (${kinds.map((kind) => p.bind(kind)).join(", ")})`;
}

/**
 * The first time after now at which a job of the kinds becomes due by itself. What is due already and was not claimed
 * waits for a job with the same serial key.
 */
export async function nextDue(database: Database, kinds: readonly string[], now: bigint): Promise<bigint | undefined> {
  if (kinds.length === 0) return undefined;
  const p = new Parameters();
  const [row]: Row[] = await database.rows(
    `SELECT MIN(due) AS due FROM (
        SELECT MIN(available_at) AS due FROM jobs
          WHERE state = 'queued' AND available_at > ${p.bind(now)} AND ${kindCondition(p, "jobs", kinds)}
        UNION ALL SELECT MIN(lease_until) AS due FROM jobs
          WHERE state = 'running' AND lease_until > ${p.bind(now)} AND ${kindCondition(p, "jobs", kinds)}) times`,
    p.values,
  );
  const due = row?.["due"];
  return typeof due === "bigint" ? due : undefined;
}
