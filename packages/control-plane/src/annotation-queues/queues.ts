import { HeddleError } from "@heddle/errors";
import type { Database, Row, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { checkName, isStorable, isTooLong } from "../database/names.js";
import { storedText } from "../database/stored-text.js";
import { queueColumns, queueOf } from "./records.js";
import type { AnnotationQueue } from "./records.js";
import { batches, Parameters } from "../database/parameters.js";
import { orderBy, pageOf } from "./select.js";
import type { SortKey } from "./select.js";

export interface NewQueue {
  /** A UUID; a queue that has it already stays as it is. */
  id: string;
  project_id: string;
  name: string;
  description: string;
  scorer_refs: readonly string[];
  created_by: string;
}

/** Absent: all queues, newest first. */
export interface QueueQuery {
  project_id: string;
  /** A part of the name, whatever its case. */
  name?: string;
  /** By `id`, `name`, `created_at` and `updated_at`; other fields are ignored. */
  sort_by?: readonly SortKey[];
  limit?: number;
  offset?: number;
}

/** Absent: unchanged. */
export type QueueChanges = Partial<Pick<AnnotationQueue, "name" | "description" | "scorer_refs">>;

export interface QueueStats {
  queue_id: string;
  total_items: number;
  /** Items that at least one annotator has completed or skipped. */
  completed_items: number;
}

const isLiveQueue = "project_id = $1 AND id = $2 AND deleted_at IS NULL";

export async function createQueue(database: Database, queue: NewQueue, now: bigint): Promise<void> {
  const name = checkName(queue.name, "name");
  await database.run(
    `INSERT INTO annotation_queues (id, project_id, name, folded_name, description, scorer_refs, total_items,
        completed_items, created_at, created_by, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, 0, 0, $7, $8, $7) ON CONFLICT (id) DO NOTHING`,
    [
      queue.id,
      queue.project_id,
      name,
      name.toLowerCase(),
      storedText(queue.description),
      JSON.stringify(queue.scorer_refs),
      now,
      queue.created_by,
    ],
  );
}

export async function queryQueues(
  database: Database,
  { project_id, name, sort_by, ...page }: QueueQuery,
): Promise<AnnotationQueue[]> {
  const p = new Parameters();
  const conditions = [`project_id = ${p.bind(project_id)}`, "deleted_at IS NULL"];
  if (name !== undefined) {
    const part = name.toLowerCase().replace(/[!%_]/g, "!$&");
    conditions.push(`folded_name LIKE ${p.bind(`%${part}%`)} ESCAPE '!'`);
  }
  const order =
    sort_by === undefined || sort_by.length === 0
      ? "created_at DESC, id ASC"
      : orderBy(sort_by, ["id", "name", "created_at", "updated_at"]);
  const sql = `SELECT ${queueColumns} FROM annotation_queues WHERE ${conditions.join(" AND ")} ORDER BY ${order} ${pageOf(p, page)}`;
  // What is longer is part of no name, and SQLite refuses long patterns.
  if (name !== undefined && (isTooLong(name) || !isStorable(name))) return [];
  return (await database.rows(sql, p.values)).map(queueOf);
}

/** Throws `not_found`, with `deleted_at` for a queue that was deleted. */
export async function getQueue(statements: Statements, projectId: string, queueId: string): Promise<AnnotationQueue> {
  return queueOf(await liveRow(statements, projectId, queueId, queueColumns));
}

/** Of transactions that are about one queue: claims in others do not wait for them. */
export const queueSubject = (queueId: string): string => `annotation queue ${queueId}`;

/** Throws as {@link getQueue} does. */
export async function requireQueue(statements: Statements, projectId: string, queueId: string): Promise<void> {
  await liveRow(statements, projectId, queueId, "deleted_at");
}

async function liveRow(statements: Statements, projectId: string, queueId: string, columns: string): Promise<Row> {
  const sql = `SELECT ${columns} FROM annotation_queues WHERE project_id = $1 AND id = $2`;
  // Postgres refuses what it cannot hold.
  const [row] = isStorable(queueId) ? await statements.rows(sql, [projectId, queueId]) : [];
  const deletedAt = row?.["deleted_at"];
  if (row !== undefined && deletedAt === null) return row;
  throw new HeddleError("not_found", `no annotation queue ${queueId} in ${projectId}`, {
    ...(deletedAt !== undefined && { details: { deleted_at: new Date(Number(deletedAt) / 1000).toISOString() } }),
  });
}

export async function updateQueue(
  database: Database,
  projectId: string,
  queueId: string,
  { name, description, scorer_refs }: QueueChanges,
  now: bigint,
): Promise<AnnotationQueue> {
  if (name !== undefined) checkName(name, "name");
  return await changeQueue(
    database,
    projectId,
    queueId,
    `name = COALESCE($3, name), folded_name = COALESCE($4, folded_name), description = COALESCE($5, description),
      scorer_refs = COALESCE($6, scorer_refs), updated_at = $7`,
    [
      name ?? null,
      name?.toLowerCase() ?? null,
      description === undefined ? null : storedText(description),
      scorer_refs === undefined ? null : JSON.stringify(scorer_refs),
      now,
    ],
  );
}

/** Hides the queue and its items. */
export async function deleteQueue(
  database: Database,
  projectId: string,
  queueId: string,
  now: bigint,
): Promise<AnnotationQueue> {
  return await changeQueue(database, projectId, queueId, "deleted_at = $3, updated_at = $3", [now]);
}

async function changeQueue(
  database: Database,
  projectId: string,
  queueId: string,
  assignments: string,
  values: ReadonlyArray<string | bigint | null>,
): Promise<AnnotationQueue> {
  return await database.transaction(async (statements) => {
    await requireQueue(statements, projectId, queueId);
    const sql = `UPDATE annotation_queues SET ${assignments} WHERE ${isLiveQueue} RETURNING ${queueColumns}`;
    const [row] = await statements.rows(sql, [projectId, queueId, ...values]);
    return queueOf(row ?? {});
  }, queueSubject(queueId));
}

export async function isLive(database: Database, projectId: string, queueId: string): Promise<boolean> {
  if (!isStorable(queueId)) return false;
  const rows = await database.rows(`SELECT 1 AS live FROM annotation_queues WHERE ${isLiveQueue}`, [
    projectId,
    queueId,
  ]);
  return rows.length > 0;
}

/** One entry for each id, in the order in which they are first named; zeros for queues that are not there. */
export async function queueStats(
  database: Database,
  projectId: string,
  queueIds: readonly string[],
): Promise<QueueStats[]> {
  const ids = [...new Set(queueIds)];
  const found = new Map<string, QueueStats>();
  for (const some of batches(ids.filter(isStorable))) {
    const p = new Parameters();
    const sql = `SELECT id, total_items, completed_items FROM annotation_queues
      WHERE project_id = ${p.bind(projectId)} AND id IN (${some.map((id) => p.bind(id)).join(", ")})
        AND deleted_at IS NULL`;
    for (const row of await database.rows(sql, p.values)) {
      const id = textOf(row, "id");
      const [total, completed] = [integerOf(row, "total_items"), integerOf(row, "completed_items")];
      found.set(id, { queue_id: id, total_items: Number(total), completed_items: Number(completed) });
    }
  }
  return ids.map((id) => found.get(id) ?? { queue_id: id, total_items: 0, completed_items: 0 });
}
