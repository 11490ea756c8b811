import { HeddleError, withLoc } from "@heddle/errors";
import type { Database, SqlValue, Statements } from "../database/database.js";
import { textOf } from "../database/database.js";
import { isStorable } from "../database/names.js";
import { originalText, storedText } from "../database/stored-text.js";
import { queueSubject, requireQueue } from "./queues.js";
import { itemColumns, itemOf } from "./records.js";
import type { AnnotationQueueItem, QueuedCall } from "./records.js";
import { batches, Parameters } from "../database/parameters.js";
import { orderBy, pageOf } from "./select.js";
import type { SortKey } from "./select.js";
import { toState } from "./states.js";
import type { AnnotationState } from "./states.js";

export interface NewItems {
  project_id: string;
  queue_id: string;
  display_fields: readonly string[];
  added_by: string;
  /** In the order in which they are to stand in the queue; their ids, which are UUIDs, sort alike. */
  items: ReadonlyArray<QueuedCall & { id: string }>;
}

export interface AddedItems {
  added: number;
  /** Items of calls that are in the queue already, or more than once in the request. */
  duplicates: number;
}

/** Absent: no condition. */
export interface ItemFilter {
  id?: string;
  call_id?: string;
  call_op_name?: string;
  call_trace_id?: string;
  added_by?: string;
  /** Any of these; none is not a condition. */
  annotation_states?: readonly string[];
}

/** Absent: all items, in the order in which they were added. */
export interface ItemQuery {
  project_id: string;
  queue_id: string;
  filter?: ItemFilter;
  /** By `call_started_at`, `call_op_name`, `created_at` and `updated_at`. */
  sort_by?: readonly SortKey[];
  limit?: number;
  offset?: number;
  include_position?: boolean;
}

/** Items of one response. */
const maxItems = 10_000;

/** Adds items to the end of a queue, all or none. Throws `not_found` for a queue that is not there. */
export async function addItems(database: Database, request: NewItems, now: bigint): Promise<AddedItems> {
  const { project_id, queue_id, added_by, items } = request;
  const displayFields = JSON.stringify(request.display_fields);
  // Of items of one call the first; the order in the queue follows from the ids.
  const distinct = [...new Map(items.toReversed().map((item) => [item.call_id, item])).values()];
  return await database.transaction(async (statements) => {
    await requireQueue(statements, project_id, queue_id);
    let added = 0;
    for (const some of batches(distinct)) {
      const p = new Parameters();
      const rows = some.map((item) => {
        const values: SqlValue[] = [
          item.id,
          project_id,
          queue_id,
          storedText(item.call_id),
          item.call_started_at,
          item.call_ended_at,
          storedText(item.call_op_name),
          storedText(item.call_trace_id),
          displayFields,
          "unstarted",
          added_by,
          now,
          now,
        ];
        return `(${values.map((value) => p.bind(value)).join(", ")})`;
      });
      const sql = `INSERT INTO annotation_queue_items (id, project_id, queue_id, call_id, call_started_at, call_ended_at,
          call_op_name, call_trace_id, display_fields, annotation_state, added_by, created_at, updated_at)
        VALUES ${rows.join(", ")} ON CONFLICT (project_id, queue_id, call_id) DO NOTHING RETURNING id`;
      added += (await statements.rows(sql, p.values)).length;
    }
    await statements.run(
      "UPDATE annotation_queues SET total_items = total_items + $3 WHERE project_id = $1 AND id = $2",
      [project_id, queue_id, BigInt(added)],
    );
    return { added, duplicates: items.length - added };
  }, queueSubject(queue_id));
}

/**
 * Throws `not_found` for a queue that is not there, `too_large` for more than 10,000 items without a limit, and
 * `unprocessable` for a field that items cannot be sorted by.
 */
export async function queryItems(database: Database, request: ItemQuery): Promise<AnnotationQueueItem[]> {
  const { project_id, queue_id, filter = {}, offset = 0, limit, include_position = false } = request;
  const p = new Parameters();
  const order = itemOrder(request.sort_by);
  const states = filterStates(filter);
  const where = itemConditions(p, project_id, queue_id, filter);
  const state = `annotation_state IN (${states.map((word) => p.bind(word)).join(", ")})`;
  // Without a state filter the position follows from the offset.
  const ranked = include_position && states.length > 0;
  const rank = ranked ? `, row_number() OVER (ORDER BY ${order}) AS position_in_queue` : "";
  const all = `SELECT ${itemColumns}${rank} FROM annotation_queue_items WHERE ${where}`;
  const unranked = states.length === 0 ? all : `${all} AND ${state}`;
  const chosen = ranked ? `SELECT * FROM (${all}) AS ranked WHERE ${state}` : unranked;
  const sql = `${chosen} ORDER BY ${ranked ? "position_in_queue" : order} ${pageOf(p, { limit, offset }, maxItems)}`;
  const [rows] = await Promise.all([database.rows(sql, p.values), requireQueue(database, project_id, queue_id)]);
  const items = rows.map(itemOf);
  if (items.length > maxItems) {
    throw new HeddleError("too_large", `more than ${maxItems} items: ask for a page`, { loc: ["limit"] });
  }
  if (include_position && !ranked) for (const [at, item] of items.entries()) item.position_in_queue = offset + at + 1;
  return items;
}

const sortable = ["call_started_at", "call_op_name", "created_at", "updated_at"];

function itemOrder(keys: readonly SortKey[] = []): string {
  for (const [at, { field }] of keys.entries()) {
    if (sortable.includes(field)) continue;
    throw new HeddleError("unprocessable", `items cannot be sorted by ${field}; use ${sortable.join(", ")}`, {
      loc: ["sort_by", at, "field"],
    });
  }
  return keys.length === 0 ? "created_at ASC, id ASC" : orderBy(keys, sortable);
}

/** SQL of a filter without its states. */
export function itemConditions(p: Parameters, projectId: string, queueId: string, filter: ItemFilter): string {
  const conditions = [`project_id = ${p.bind(projectId)}`, `queue_id = ${p.bind(storedText(queueId))}`];
  for (const column of ["id", "call_id", "call_op_name", "call_trace_id", "added_by"] as const) {
    const value = filter[column];
    if (value !== undefined) conditions.push(`${column} = ${p.bind(storedText(value))}`);
  }
  return conditions.join(" AND ");
}

/** The states of a filter; none is not a condition. Throws `invalid` for a word that is not a state. */
export function filterStates({ annotation_states = [] }: ItemFilter): AnnotationState[] {
  const states = annotation_states.map((word, at) => withLoc(["filter", "annotation_states", at], () => toState(word)));
  return [...new Set(states)];
}

/** The item of a queue that is there. */
export async function findItem(
  statements: Statements,
  projectId: string,
  queueId: string,
  itemId: string,
): Promise<AnnotationQueueItem | undefined> {
  if (!isStorable(itemId) || !isStorable(queueId)) return undefined;
  const [row] = await statements.rows(
    `SELECT ${itemColumns} FROM annotation_queue_items WHERE project_id = $1 AND queue_id = $2 AND id = $3
      AND EXISTS (SELECT 1 FROM annotation_queues AS q WHERE q.project_id = $1 AND q.id = $2 AND q.deleted_at IS NULL)`,
    [projectId, queueId, itemId],
  );
  return row && itemOf(row);
}

/** Ids of the calls in a queue, at most `limit` of them; none of a queue that is not there. */
export async function queuedCallIds(
  database: Database,
  projectId: string,
  queueId: string,
  limit: number,
): Promise<string[]> {
  if (!isStorable(queueId)) return [];
  const rows = await database.rows(
    `SELECT call_id FROM annotation_queue_items WHERE project_id = $1 AND queue_id = $2
      AND EXISTS (SELECT 1 FROM annotation_queues AS q WHERE q.project_id = $1 AND q.id = $2 AND q.deleted_at IS NULL)
      LIMIT $3`,
    [projectId, queueId, BigInt(limit)],
  );
  return rows.map((row) => originalText(textOf(row, "call_id")));
}
