import type { Database, Row, Statements } from "../database/database.js";
import { integerOf } from "../database/database.js";
import { isStorable } from "../database/names.js";
import { filterStates, itemConditions } from "./items.js";
import type { ItemFilter } from "./items.js";
import { claimItem } from "./progress.js";
import { queueSubject, requireQueue } from "./queues.js";
import { itemColumns, itemOf } from "./records.js";
import type { AnnotationQueueItem, Moments } from "./records.js";
import { Parameters } from "../database/parameters.js";
import type { AnnotationState } from "./states.js";

export interface ClaimRequest {
  project_id: string;
  queue_id: string;
  annotator_user_id: string;
  filter?: ItemFilter;
  /** Ids of items that are not wanted, whoever has a claim on them. */
  except?: readonly string[];
  /** How long the claim is valid, in microseconds. */
  lease_us: bigint;
}

export interface Claim {
  item: AnnotationQueueItem;
  /** Microseconds since 1970; afterwards others can claim the item. */
  claimed_until: bigint;
}

/** No claim is for longer: one that seems to be was made before the clock was set back, by a process that has ended. */
const longestLease = 24n * 3_600_000_000n;

/**
 * Claims the next item for an annotator; undefined when none is left. A valid claim of the annotator is extended and
 * returned, whatever the filter. Otherwise it is an item whose claim has run out, the longest ago first, then an
 * unstarted one, the oldest first. Throws `not_found` for a queue that is not there.
 */
export async function claimNext(
  database: Database,
  request: ClaimRequest,
  { now, steady }: Moments,
): Promise<Claim | undefined> {
  const { project_id, queue_id, annotator_user_id: annotator, lease_us } = request;
  const states = filterStates(request.filter ?? {});
  const mayBe = (state: AnnotationState) => states.length === 0 || states.includes(state);
  return await database.transaction(async (statements) => {
    await requireQueue(statements, project_id, queue_id);
    const end = steady + lease_us;
    const own = await validClaim(statements, request, steady);
    if (own !== undefined) {
      const until = integerOf(own, "claimed_until");
      if (until >= end) return { item: itemOf(own), claimed_until: until };
      const item = await claimItem(statements, itemOf(own), { annotator, until: end, now });
      return { item, claimed_until: end };
    }
    const lapsed = mayBe("in_progress") ? await lapsedItem(statements, request, steady) : undefined;
    const free = lapsed ?? (mayBe("unstarted") ? await unstartedItem(statements, request) : undefined);
    if (free === undefined) return undefined;
    return { item: await claimItem(statements, itemOf(free), { annotator, until: end, now }), claimed_until: end };
  }, queueSubject(queue_id));
}

async function validClaim(
  statements: Statements,
  { project_id, queue_id, annotator_user_id, except }: ClaimRequest,
  steady: bigint,
): Promise<Row | undefined> {
  const p = new Parameters();
  const conditions = [
    `project_id = ${p.bind(project_id)}`,
    `queue_id = ${p.bind(queue_id)}`,
    `claimed_until > ${p.bind(steady)}`,
    `claimed_until <= ${p.bind(steady + longestLease)}`,
    `claimed_by = ${p.bind(annotator_user_id)}${isWanted(p, except)}`,
  ];
  const [row] = await statements.rows(
    `SELECT ${itemColumns}, claimed_until FROM annotation_queue_items WHERE ${conditions.join(" AND ")}
      ORDER BY claimed_until DESC LIMIT 1`,
    p.values,
  );
  return row;
}

function isWanted(p: Parameters, except: readonly string[] = []): string {
  const ids = except.filter(isStorable);
  return ids.length === 0 ? "" : ` AND id NOT IN (${ids.map((id) => p.bind(id)).join(", ")})`;
}

/** An item whose claim has run out, unless somebody else has begun it since. */
async function lapsedItem(statements: Statements, request: ClaimRequest, steady: bigint): Promise<Row | undefined> {
  const free = (p: Parameters) =>
    `(claimed_until <= ${p.bind(steady)} OR claimed_until > ${p.bind(steady + longestLease)}) AND annotator_user_id = claimed_by`;
  return await firstItem(statements, request, free, "claimed_until, created_at, id");
}

/**
 * The state is a range and part of the order, so that only the index that begins with it serves: after a comparison with
 * `=`, Postgres may read the items in the order of their creation, past all that are finished.
 */
async function unstartedItem(statements: Statements, request: ClaimRequest): Promise<Row | undefined> {
  const free = () => "annotation_state BETWEEN 'unstarted' AND 'unstarted'";
  return await firstItem(statements, request, free, "annotation_state, created_at, id");
}

async function firstItem(
  statements: Statements,
  { project_id, queue_id, filter = {}, except }: ClaimRequest,
  free: (p: Parameters) => string,
  order: string,
): Promise<Row | undefined> {
  const p = new Parameters();
  const conditions = `${itemConditions(p, project_id, queue_id, filter)} AND ${free(p)}${isWanted(p, except)}`;
  const sql = `SELECT ${itemColumns} FROM annotation_queue_items WHERE ${conditions} ORDER BY ${order} LIMIT 1`;
  const [row] = await statements.rows(sql, p.values);
  return row;
}
