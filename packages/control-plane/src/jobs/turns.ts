import type { Row, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import type { Parameters } from "../database/parameters.js";

/** Whose job it is: jobs of a pool take turns by these. */
export interface JobOwner {
  pool: string;
  entity: string;
  key_id: string;
  project_id: string;
}

/** What can be claimed, in the words of the partial indexes. */
export const isReady = "state = 'queued' AND waits_for IS NULL AND cancel_requested = 0";

export function ofKey(p: Parameters, { pool, entity, key_id }: Omit<JobOwner, "project_id">): string {
  return `pool = ${p.bind(pool)} AND entity = ${p.bind(entity)} AND key_id = ${p.bind(key_id)}`;
}

/**
 * Returns the turn of a job that begins to wait (start-time fair queueing): after the others of its project, and not
 * before the turn that its key has now, so that the projects of a key alternate however many jobs each has.
 */
export async function nextTurn(statements: Statements, owner: JobOwner): Promise<bigint> {
  const values = [owner.pool, owner.entity, owner.key_id];
  const mine = "pool = $1 AND entity = $2 AND key_id = $3";
  const [row] = await statements.rows(
    `SELECT MAX(turn) AS turn FROM (
        SELECT MAX(turn) + 1 AS turn FROM jobs WHERE ${mine} AND project_id = $4 AND turn > 0
        UNION ALL SELECT MAX(turn) AS turn FROM jobs WHERE ${mine} AND claimed_at IS NOT NULL
        UNION ALL SELECT 1 AS turn) turns`,
    [...values, owner.project_id],
  );
  if (row === undefined) throw new TypeError("an aggregate returned no row");
  return integerOf(row, "turn");
}

/** The columns of a job's owner, as they are read. */
export const ownerColumns = "pool, entity, key_id, project_id";

export function ownerOf(row: Row): JobOwner {
  return {
    pool: textOf(row, "pool"),
    entity: textOf(row, "entity"),
    key_id: textOf(row, "key_id"),
    project_id: textOf(row, "project_id"),
  };
}
