import type { InFlight } from "../ingest/in-flight.js";
import type { Parameters } from "../engine/parameters.js";
import { newestRows } from "../schema/read-table.js";

/** Whose calls, seen when. */
export interface CallScope {
  project_id: string;
  /** Microseconds since 1970; calls that expired before are not visible. */
  now: bigint;
  inFlight: InFlight;
}

/**
 * What to read. All texts are SQL over the columns of `calls`: the builder gives running calls the columns they lack
 * (`status`, `latency_us`, the usage arrays), and `names` adds those of {@link shownName}.
 */
export interface CallSelection {
  select: readonly string[];
  where?: readonly string[];
  /** Conditions that few calls meet: of complete calls, only those that do are looked up among the hidden ones. */
  prewhere?: readonly string[];
  /** Joined to both branches. */
  joins?: readonly CallJoin[];
  /** Joins the renames. */
  names?: boolean;
  groupBy?: string;
  orderBy?: string;
  /** At most this many rows of each branch. */
  limit?: number;
  /** Leaves the running calls out, as for a project that has none. */
  onlyComplete?: boolean;
}

/**
 * SQL of a join. A function gets a SELECT of the ids of a branch that has few calls, so that the join reads only what
 * belongs to them; undefined for the other branch.
 */
type CallJoin = string | ((ids: string | undefined) => string);

/** Columns that running calls lack, as they read there. */
const runningColumns = [
  "'running' AS status",
  "CAST(NULL, 'Nullable(Int64)') AS latency_us",
  "CAST([], 'Array(String)') AS `usage.model`",
  ...[
    "requests",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
  ].map((name) => `CAST([], 'Array(UInt64)') AS \`usage.${name}\``),
].join(", ");

/**
 * Compiles every read of calls: the complete and the running calls of a project, without those that are hidden, expired
 * or being replaced. The result is the text of a `UNION ALL` for use as a subquery.
 *
 * Running calls come first: a call that ends meanwhile is then read twice, never missed. So readers of single calls
 * add `LIMIT 1 BY id`.
 */
export function visibleCalls(scope: CallScope, p: Parameters, selection: CallSelection): string {
  const selects = visibleSelects(scope, p, selection);
  return selects.length === 1 ? selects.join("") : selects.map((select) => `(${select})`).join(" UNION ALL ");
}

/** The SELECTs of that union: of one alone the engine makes a plan in less time than of a subquery. */
export function visibleSelects(scope: CallScope, p: Parameters, selection: CallSelection): string[] {
  const project = p.bind("String", scope.project_id);
  const alive = `expire_at > toDateTime(${p.bind("UInt32", scope.now / 1_000_000n)}, 'UTC')`;
  const retention = scope.inFlight.retentionUs(scope.project_id);
  const kept = retention === undefined ? [] : [`started_at > ${p.time(scope.now - retention)}`];
  const limit = selection.limit === undefined ? undefined : p.bind("UInt64", selection.limit);
  const hidden = scope.inFlight.hasHidden(scope.project_id);
  const written = beingWritten(scope, p, project);
  const names = selection.names === true && scope.inFlight.hasNames(scope.project_id);
  const joins = [...(selection.names === true ? [namesJoin(project, names)] : []), ...(selection.joins ?? [])];
  const prewhere = selection.prewhere ?? [];
  const branch = (table: string, conditions: readonly string[], first: readonly string[] = [], ids?: string) =>
    [
      `SELECT ${selection.select.join(", ")} FROM ${[table, ...joins.map((join) => (typeof join === "string" ? join : join(ids)))].join(" ")}`,
      ...(first.length === 0 ? [] : [`PREWHERE ${first.join(" AND ")}`]),
      `WHERE ${[`project_id = ${project}`, ...kept, ...conditions, alive, ...(selection.where ?? [])].join(" AND ")}`,
      ...(selection.groupBy === undefined ? [] : [`GROUP BY ${selection.groupBy}`]),
      ...(selection.orderBy === undefined ? [] : [`ORDER BY ${selection.orderBy}`]),
      ...(limit === undefined ? [] : [`LIMIT ${limit}`]),
    ].join(" ");
  const parts = `FROM ${newestRows("call_parts")} WHERE project_id = ${project} AND part = 'start'`;
  const running = branch(
    `(SELECT *, ${runningColumns} ${parts}) AS call_parts`,
    [...(hidden ? [notDeleted(project)] : []), ...written.starts, ...prewhere],
    [],
    `SELECT id ${parts}`,
  );
  const complete = branch(
    "calls",
    [...(hidden ? [notDeleted(project), notReplaced(project)] : []), ...written.replaced],
    prewhere,
  );
  const onlyComplete = selection.onlyComplete === true || !scope.inFlight.mayRun(scope.project_id);
  return onlyComplete ? [complete] : [running, complete];
}

/** The display name of a call: the last rename, be it to nothing, else the name it was started with. */
export const shownName = "if(renamed_id = '', display_name, new_name)";

function namesJoin(project: string, any: boolean): string {
  const source = any ? `FROM ${newestRows("call_names")} WHERE project_id = ${project}` : "WHERE 0";
  const columns = any ? "id AS renamed_id, display_name AS new_name" : "'' AS renamed_id, '' AS new_name";
  return `LEFT JOIN (SELECT ${columns} ${source}) AS names ON renamed_id = id`;
}

/** The renames of some calls, for a page that is shown: rows of `id` and `display_name`. */
export function renames(p: Parameters, projectId: string, ids: readonly string[]): string {
  const mine = `project_id = ${p.bind("String", projectId)} AND ${p.in("id", "String", ids)}`;
  return `SELECT id, display_name FROM ${newestRows("call_names")} WHERE ${mine}`;
}

function notDeleted(project: string): string {
  return `id NOT IN (SELECT id FROM ${newestRows("call_hidden")} WHERE project_id = ${project} AND version = 0 AND compacted_at IS NULL)`;
}

function notReplaced(project: string): string {
  return `(id, version) NOT IN (SELECT id, version FROM ${newestRows("call_hidden")} WHERE project_id = ${project} AND version > 0 AND compacted_at IS NULL)`;
}

/** No commit takes this long, and versions are microseconds of the clock: what one is writing now is younger. */
const commitUs = 300_000_000n;

/**
 * Leaves out what a commit replaces as soon as its new row can be seen, so that the call neither doubles nor vanishes.
 * Both are conditions on rows of calls that are being written, one for open starts, one for complete rows.
 */
function beingWritten(scope: CallScope, p: Parameters, project: string): { starts: string[]; replaced: string[] } {
  const ids = scope.inFlight.closing(scope.project_id);
  if (ids.length === 0) return { starts: [], replaced: [] };
  const these = p.in("id", "String", ids);
  const recent = `version >= ${p.bind("UInt64", scope.now > commitUs ? scope.now - commitUs : 0n)}`;
  const rows = `FROM calls WHERE project_id = ${project} AND ${recent} AND ${these}`;
  const arrived = `${these} AND id IN (SELECT id ${rows})`;
  return {
    starts: [`NOT (${arrived})`],
    replaced: [`NOT (${arrived} AND (id, version) NOT IN (SELECT id, max(version) ${rows} GROUP BY id))`],
  };
}
