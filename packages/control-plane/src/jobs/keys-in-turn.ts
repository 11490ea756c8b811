import type { Row, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { isReady } from "./turns.js";

/** Whose jobs take turns. Keys of one entity share what it has. */
export interface JobKey {
  entity: string;
  key_id: string;
}

/** Those who have as many jobs running as they may. */
export interface FullShares {
  entities: readonly string[];
  keys: readonly JobKey[];
}

interface KeyInTurn extends JobKey {
  /** Of the entity, then of the key: what runs, and when it had its last turn; then the age of its next job. */
  order: readonly bigint[];
}

/**
 * The keys that have a job which could run, in the order of their turns: first by entity, then by key, whoever has the
 * fewest jobs running, then whose last turn is longest ago. Jumps from key to key in an index, however many jobs each has.
 */
export async function keysInTurn(statements: Statements, pool: string, full?: FullShares): Promise<JobKey[]> {
  const rows = await statements.rows(waitingKeys, [pool]);
  if (rows.length === 0) return [];
  const running = await statements.rows(
    "SELECT entity, key_id, COUNT(*) AS jobs FROM jobs WHERE state = 'running' AND pool = $1 GROUP BY entity, key_id",
    [pool],
  );
  const ofEntities = new Map<string, bigint>();
  const ofKeys = new Map<string, bigint>();
  for (const row of running) {
    const { entity, key_id } = jobKeyOf(row);
    ofEntities.set(entity, (ofEntities.get(entity) ?? 0n) + integerOf(row, "jobs"));
    ofKeys.set(nameOf({ entity, key_id }), integerOf(row, "jobs"));
  }
  const fullEntities = new Set(full?.entities);
  const fullKeys = new Set(full?.keys.map(nameOf));
  return rows
    .map((row): KeyInTurn => {
      const key = jobKeyOf(row);
      const order = [
        ofEntities.get(key.entity) ?? 0n,
        integerOf(row, "entity_claim"),
        ofKeys.get(nameOf(key)) ?? 0n,
        integerOf(row, "key_claim"),
        integerOf(row, "next_job"),
      ];
      return { ...key, order };
    })
    .filter((key) => !fullEntities.has(key.entity) && !fullKeys.has(nameOf(key)))
    .toSorted(byOrder);
}

/** Two recursive steps: the next entity, and in it the next key. */
const waitingKeys = `WITH RECURSIVE entities (entity) AS (
    SELECT (SELECT MIN(j.entity) FROM jobs j WHERE j.pool = $1 AND ${isReady})
    UNION ALL
    SELECT (SELECT MIN(j.entity) FROM jobs j WHERE j.pool = $1 AND ${isReady} AND j.entity > e.entity)
      FROM entities e WHERE e.entity IS NOT NULL
  ), keys (entity, key_id) AS (
    SELECT e.entity, (SELECT MIN(j.key_id) FROM jobs j WHERE j.pool = $1 AND ${isReady} AND j.entity = e.entity)
      FROM entities e WHERE e.entity IS NOT NULL
    UNION ALL
    SELECT k.entity,
        (SELECT MIN(j.key_id) FROM jobs j
          WHERE j.pool = $1 AND ${isReady} AND j.entity = k.entity AND j.key_id > k.key_id)
      FROM keys k WHERE k.key_id IS NOT NULL
  )
  SELECT k.entity, k.key_id,
      (SELECT COALESCE(MAX(c.claimed_at), 0) FROM jobs c
        WHERE c.pool = $1 AND c.entity = k.entity AND c.claimed_at IS NOT NULL) AS entity_claim,
      (SELECT COALESCE(MAX(c.claimed_at), 0) FROM jobs c
        WHERE c.pool = $1 AND c.entity = k.entity AND c.key_id = k.key_id AND c.claimed_at IS NOT NULL) AS key_claim,
      (SELECT j.sequence FROM jobs j
        WHERE j.pool = $1 AND ${isReady} AND j.entity = k.entity AND j.key_id = k.key_id
        ORDER BY j.turn, j.sequence LIMIT 1) AS next_job
    FROM keys k WHERE k.key_id IS NOT NULL`;

const jobKeyOf = (row: Row): JobKey => ({ entity: textOf(row, "entity"), key_id: textOf(row, "key_id") });

const nameOf = ({ entity, key_id }: JobKey): string => `${entity} ${key_id}`;

function byOrder(a: KeyInTurn, b: KeyInTurn): number {
  for (const [at, value] of a.order.entries()) {
    const other = b.order[at] ?? 0n;
    if (value !== other) return value < other ? -1 : 1;
  }
  return 0;
}
