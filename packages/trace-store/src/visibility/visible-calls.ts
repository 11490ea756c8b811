import type { WhichCalls } from "../stored-calls/in-flight.js";
import type { CallScope } from "./call-scope.js";
import { namesJoin } from "./display-names.js";
import { columnNames } from "../stored-calls/stored-call.js";
import type { Parameters } from "../engine/parameters.js";
import { newestRows } from "../schema/read-table.js";
import { keysOf, located, locatedIn } from "./located.js";
import { retained } from "./retention.js";
import { during, fewSpans } from "../stored-calls/time-spans.js";

/**
 * What to read. All texts are SQL over the columns of `calls`: running calls have them all, and `names` adds those of
 * `displayName`.
 */
export interface CallSelection extends WhichCalls {
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
  /** Only the complete calls, or only the running ones. */
  only?: "complete" | "running" | undefined;
  /**
   * For aggregation of all calls of a project: only around the times when hidden calls started are rows tested for being
   * hidden. Of `sums`, Int64 that the reader adds up, the hidden part is subtracted: a statement reads one snapshot
   * of a table. It costs a small read more than it saves, so lists leave it out.
   */
  aggregation?: "rows" | "sums" | undefined;
  /** Finds the complete calls with `ids` wherever they are, by what `call_ids` has of them, or else by their filters. */
  lookUp?: boolean | LookUp;
  /** Leaves the hidden calls in, for a reader that drops them itself. */
  withHidden?: boolean;
}

/** Of one call, in two statements: by what `call_ids` has, and then among those rows that it does not have up to a version. */
export interface LookUp {
  part: "ids" | "newer";
  indexed: bigint;
}

/**
 * SQL of a join. A function gets a SELECT of the ids of a branch that has few calls, so that the join reads only what
 * belongs to them; undefined for the other branch.
 */
type CallJoin = string | ((ids: string | undefined) => string);

/**
 * Compiles every read of calls: the complete and the running calls of a project, without those that are hidden, expired
 * or being replaced. The result is the text of a `UNION ALL` for use as a subquery.
 *
 * Running calls come first: a call that ends meanwhile is then read twice, never missed. So readers of single calls
 * add `LIMIT 1 BY id`. One who reads the two apart may miss it, and has to watch for that (`InFlight.watchEnds`).
 */
export function visibleCalls(scope: CallScope, p: Parameters, selection: CallSelection): string {
  const project = p.bind("String", scope.project_id);
  const kept = retained(scope, p, project);
  const limit = selection.limit === undefined ? undefined : p.bind("UInt64", selection.limit);
  const unhidden = selection.withHidden === true ? [] : notHidden(scope, p, project, selection.ids);
  const written = beingWritten(scope, p, project);
  const names = selection.names === true && scope.inFlight.hasNames(scope.project_id);
  const joins = [...(selection.names === true ? [namesJoin(project, names)] : []), ...(selection.joins ?? [])];
  const prewhere = selection.prewhere ?? [];
  const branch = (table: string, conditions: readonly string[], first: readonly string[] = [], ids?: string) =>
    [
      `SELECT ${selection.select.join(", ")} FROM ${[table, ...joins.map((join) => (typeof join === "string" ? join : join(ids)))].join(" ")}`,
      ...(first.length === 0 ? [] : [`PREWHERE ${first.join(" AND ")}`]),
      `WHERE ${[`project_id = ${project}`, ...kept, ...conditions, ...(selection.where ?? [])].join(" AND ")}`,
      ...(selection.groupBy === undefined ? [] : [`GROUP BY ${selection.groupBy}`]),
      ...(selection.orderBy === undefined ? [] : [`ORDER BY ${selection.orderBy}`]),
      ...(limit === undefined ? [] : [`LIMIT ${limit}`]),
    ].join(" ");
  const completeWhere = (conditions: readonly string[]) =>
    branch("calls", [...looked(scope, p, selection), ...conditions, ...written.replaced], prewhere);
  const complete =
    selection.aggregation === undefined || unhidden.length === 0
      ? [completeWhere(unhidden)]
      : aggregated(selection, timesOfHidden(scope, p), unhidden, completeWhere);
  const { only = readsRunning(scope, selection) ? undefined : "complete" } = selection;
  if (only === "complete") return unionOf(complete);
  const parts = newestRows("call_parts");
  const ids = `SELECT id FROM ${parts} WHERE project_id = ${project} AND part = 'start'`;
  const running = branch(parts, ["part = 'start'", ...unhidden, ...written.starts, ...prewhere], [], ids);
  return only === "running" ? running : unionOf([running, ...complete]);
}

function looked({ project_id, inFlight }: CallScope, p: Parameters, { lookUp, ids }: CallSelection): string[] {
  const indexed = inFlight.indexedUpTo();
  if (!lookUp || ids === undefined || indexed === undefined) return [];
  const [id = ""] = ids;
  if (lookUp !== true) return [locatedIn(p, lookUp.part, { project_id, id }, lookUp.indexed)];
  return [
    located(
      keysOf(
        p,
        ids.map((id) => ({ project_id, id })),
      ),
      indexed,
    ),
  ];
}

/** Whether running calls can be among those that are selected. */
export function readsRunning({ project_id, inFlight }: CallScope, { ids, traceIds }: WhichCalls): boolean {
  return inFlight.mayRun(project_id, { ids, traceIds });
}

/** Leaves out what is deleted or replaced: by the list that memory has, which is short, else by the table. */
function notHidden({ project_id, inFlight }: CallScope, p: Parameters, project: string, ids?: readonly string[]) {
  const hidden = inFlight.hidden(project_id);
  if (hidden === undefined) {
    const from = `FROM ${newestRows("call_hidden")} WHERE project_id = ${project} AND compacted_at IS NULL`;
    return [
      `id NOT IN (SELECT id ${from} AND version = 0)`,
      `(id, version) NOT IN (SELECT id, version ${from} AND version > 0)`,
    ];
  }
  const these = (ids ?? [...hidden.keys()]).filter((id) => hidden.has(id));
  if (these.length === 0) return [];
  const versions = p.bind(
    "Array(UInt64)",
    these.map((id) => hidden.get(id)?.upTo ?? 0n),
  );
  return [`version > transform(id, ${p.bind("Array(String)", these)}, ${versions}, 0)`];
}

/** The condition that a call started when one that is hidden did; undefined when only the table of those knows. */
function timesOfHidden({ project_id, inFlight }: CallScope, p: Parameters): string | undefined {
  const hidden = inFlight.hidden(project_id);
  return hidden && during(p, fewSpans([...hidden.values()].map(({ started }) => started)));
}

/** Statements about the complete calls of a project whose rows together have what one about all of them has. */
function aggregated(
  { aggregation, select }: CallSelection,
  times: string | undefined,
  unhidden: readonly string[],
  completeWhere: (conditions: readonly string[]) => string,
): string[] {
  if (times === undefined) return [completeWhere(unhidden)];
  if (aggregation === "rows") return [completeWhere([`NOT ${times}`]), completeWhere([times, ...unhidden])];
  const negative = columnNames(select).map((name) => `-${name}`);
  const hidden = completeWhere([times, `NOT (${unhidden.join(" AND ")})`]);
  return [completeWhere([]), `SELECT ${negative.join(", ")} FROM (${hidden})`];
}

const unionOf = (statements: readonly string[]): string =>
  statements.length === 1 ? (statements[0] ?? "") : statements.map((statement) => `(${statement})`).join(" UNION ALL ");

/** No commit takes this long, and versions are microseconds of the clock: what one is writing now is younger. */
const commitUs = 300_000_000n;

/**
 * Leaves out what a commit replaces as soon as its new row can be seen, so that the call neither doubles nor vanishes.
 * Both are conditions on rows of calls that are being written, one for open starts, one for complete rows.
 */
function beingWritten(scope: CallScope, p: Parameters, project: string): { starts: string[]; replaced: string[] } {
  const ids = [...scope.inFlight.closing(scope.project_id)];
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
