import { Parameters } from "../../engine/parameters.js";
import { newestRows } from "../../schema/read-table.js";
import { tableFacts } from "../../schema/schema.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import { closeOpenSides } from "../commit/delete-calls.js";
import type { IngestContext } from "../context.js";

/** Projects and the start time, in microseconds, up to which their calls have expired. */
export type RetentionLimits = ReadonlyMap<string, bigint>;

/** Rows are rewritten without the deleted ones, and the statement returns when they are. */
const deleteSettings = { mutations_sync: "2", allow_nondeterministic_mutations: 1 } as const;

/** Conditions and parameters of this many projects fit into one statement. */
const projectsAtOnce = 50;
const sidesAtOnce = 5000;

/**
 * Returns the projects with calls that expired more than `delayUs` ago. `retention` has the microseconds for which each
 * project keeps its calls.
 */
export async function findExpired(
  { engine, now }: IngestContext,
  retention: ReadonlyMap<string, bigint>,
  delayUs: bigint,
): Promise<RetentionLimits> {
  const found = new Map<string, bigint>();
  const limits = new Map(Array.from(retention, ([projectId, us]) => [projectId, now() - us]));
  for (const some of groups(limits)) {
    const p = new Parameters();
    const expired = startedUpTo(p, new Map(Array.from(some, ([projectId, us]) => [projectId, us - delayUs])));
    const sql = `SELECT DISTINCT project_id FROM calls WHERE ${expired}
      UNION DISTINCT SELECT DISTINCT project_id FROM ${newestRows("call_parts")} WHERE part = 'start' AND (${expired})`;
    for (const { project_id } of await engine.rows<{ project_id: string }>({ sql, params: p })) {
      const limit = limits.get(project_id);
      if (limit !== undefined) found.set(project_id, limit);
    }
  }
  return found;
}

/**
 * Deletes expired calls for good, with what other tables hold about them; calls go last, so that repeating it after a
 * failure is harmless. Readers do not see these calls any more. Commits go on meanwhile, except for `betweenCommits`.
 */
export async function purgeExpired(
  context: IngestContext,
  limits: RetentionLimits,
  betweenCommits: (work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const { engine } = context;
  for (const some of groups(limits)) {
    for (const [table, { callColumn }] of tableFacts) {
      if (callColumn === undefined) continue;
      const params = new Parameters();
      const sql = `ALTER TABLE ${table} DELETE WHERE ${aboutExpired(params, some, callColumn)}`;
      await engine.command({ sql, params }, { settings: deleteSettings });
    }
    await closeExpiredStarts(context, some, betweenCommits);
    const params = new Parameters();
    for (const table of ["calls", "call_ids"]) {
      const sql = `ALTER TABLE ${table} DELETE WHERE ${startedUpTo(params, some)}`;
      await engine.command({ sql, params }, { settings: deleteSettings });
    }
    for (const [projectId, us] of some) context.state.newestCalls.removeUpTo(projectId, us);
  }
}

/** Running calls that have expired; clean-up removes what is closed. */
async function closeExpiredStarts(
  context: IngestContext,
  limits: RetentionLimits,
  betweenCommits: (work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const params = new Parameters();
  const sql = `SELECT project_id, id FROM ${newestRows("call_parts")}
    WHERE closed = 0 AND part = 'start' AND (${startedUpTo(params, limits)})`;
  let calls: CallKey[] = [];
  const close = async () => {
    const closing = calls;
    calls = [];
    if (closing.length > 0) await betweenCommits(() => closeOpenSides(context, closing));
  };
  for await (const call of context.engine.stream<CallKey>({ sql, params })) {
    calls.push(call);
    if (calls.length >= sidesAtOnce) await close();
  }
  await close();
}

function startedUpTo(p: Parameters, limits: RetentionLimits): string {
  const projects = Array.from(
    limits,
    ([projectId, us]) => `(project_id = ${p.bind("String", projectId)} AND started_at <= ${p.time(us)})`,
  );
  return projects.join(" OR ");
}

/** Rows about an expired call, unless the call has a newer version that started later. */
function aboutExpired(p: Parameters, limits: RetentionLimits, callColumn: string): string {
  const projects = Array.from(limits, ([projectId, us]) => {
    const project = `project_id = ${p.bind("String", projectId)}`;
    const limit = p.time(us);
    const expired = `SELECT id FROM calls WHERE ${project} AND started_at <= ${limit}
      UNION ALL SELECT id FROM ${newestRows("call_parts")} WHERE ${project} AND part = 'start' AND started_at <= ${limit}`;
    const kept = `SELECT id FROM calls WHERE ${project} AND started_at > ${limit} AND id IN (${expired})`;
    return `(${project} AND ${callColumn} IN (${expired}) AND ${callColumn} NOT IN (${kept}))`;
  });
  return projects.join(" OR ");
}

function* groups(limits: RetentionLimits): Generator<RetentionLimits> {
  const entries = [...limits];
  for (let from = 0; from < entries.length; from += projectsAtOnce) {
    yield new Map(entries.slice(from, from + projectsAtOnce));
  }
}
