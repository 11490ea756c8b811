import type { Reserve } from "../context.js";
import type { Engine, Statement, StatementOptions } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { at, compileSortedCalls, findsAll, whichCalls } from "../query/call-query.js";
import type { CallPlan, CallsById, LocatedCalls } from "../query/call-query.js";
import { pageClause } from "../query/page.js";
import { positionColumn } from "../query/seek.js";
import type { CallOrder } from "../query/sort.js";
import { newestBy } from "../schema/newest-by.js";
import { briefly, briefReader } from "../stored-calls/brief.js";
import type { BriefRow } from "../stored-calls/brief.js";
import type { HiddenCall } from "../stored-calls/hidden-call.js";
import { columnNames } from "../stored-calls/stored-call.js";
import type { CallRow } from "../stored-calls/stored-call.js";
import { readsRunning, visibleCalls } from "../visibility/visible-calls.js";
import type { CallScope } from "../visibility/call-scope.js";
import type { CallSelection } from "../visibility/visible-calls.js";
import type { PageRow, RowSource } from "./row-source.js";

/** From where calls are read, and what of them. */
export interface CallSource {
  engine: Engine;
  scope: () => CallScope;
  /** As `callColumns` makes it. */
  select: readonly string[];
  signal: AbortSignal | undefined;
  reserve: Reserve | undefined;
}

/** The calls that a plan finds. */
export interface PlannedCalls extends CallSource {
  plan: CallPlan;
  /** The calls of `filter.call_ids`. */
  byId: CallsById | undefined;
  /** Columns that come along with the keys: a second statement costs more than what a few rows take of them. */
  shown?: Columns | undefined;
}

/** A list of calls to read. */
export interface CallList extends PlannedCalls {
  /** Finds the calls by id when only these are `within` where they should be. */
  find: (found: LocatedCalls) => Promise<CallsById | undefined>;
  limit: number | undefined;
  offset: number;
  /** For statements in the middle of another one. */
  lookups: Engine;
}

/** Payloads that are fetched, and held in memory, at a time. */
export const fetchBytes = 4 * 1024 * 1024;
/** Rows to spare for calls that have two: after a crash, or when one just ended. */
export const spareRows = 16;
/** Hidden rows that a page may read for nothing. */
export const maxDropped = 200;

/**
 * Filters over payloads stop at the newest matches instead of reading ahead in every part.
 */
export const listSettings: StatementOptions["settings"] = { read_in_order_use_buffering: 0 };

/** Of a list that is read to its end: all indexes are read first, not part by part until there are enough rows. */
export const wholeListSettings: StatementOptions["settings"] = { ...listSettings, use_skip_indexes_on_data_read: 0 };

interface KeyRow {
  id: string;
  version: string;
  started_us: string;
  bytes: string;
  /** Of a plan that seeks. */
  position?: Array<string | null>;
}

/** Columns of any size. Where large ones are left out they have a name of their own, since conditions use them, too. */
const payloads = ["attributes", "inputs", "output", "summary"] as const;
type Payload = (typeof payloads)[number];
type SmallRow = KeyRow & Omit<BriefRow, Payload> & { [Column in Payload as `small_${Column}`]?: CallRow[Column] };

const isPayload = (column: string): boolean => payloads.some((payload) => payload === column);

function namedAsStored(row: SmallRow): BriefRow {
  const {
    small_attributes: attributes,
    small_inputs: inputs,
    small_output: output,
    small_summary: summary,
    ...rest
  } = row;
  return { ...rest, attributes, inputs, output, summary };
}

const pageRow = ({ id, version, started_us, bytes, position }: KeyRow, whole?: CallRow): PageRow => ({
  id,
  version: BigInt(version),
  started_at: BigInt(started_us),
  bytes: Number(bytes),
  whole,
  position,
});

/**
 * Rows of the tables, with calls of less than `smallBytes` as a whole. Where a list has all calls of its project, the few hidden
 * ones are read and dropped: without any condition the engine reads just the rows of a page.
 */
export function rowsOfTables(list: PlannedCalls, smallBytes: number, only?: "complete"): RowSource {
  const { engine, signal, byId, plan } = list;
  // A few calls are sorted sooner than the table is read in order.
  const settings = byId === undefined ? listSettings : { ...listSettings, optimize_read_in_order: 0 as const };
  const isSmall = ({ bytes }: KeyRow) => Number(bytes) < smallBytes;
  const read = briefReader(list.select);
  return async (most) => {
    const scope = list.scope();
    const isOneTable = only === "complete" || !readsRunning(scope, whichCalls(plan, byId));
    const hidden = isOneTable && findsAll(plan) ? hiddenToDrop(scope) : none;
    const limit = most + hidden.rows;
    const statement = () => pageStatement(list, smallBytes, { limit, only, withHidden: hidden !== none });
    const options = { signal, settings };
    const found =
      smallBytes === 0
        ? (await engine.rows<KeyRow>(statement, options)).map((row) => ({
            ...pageRow(row),
            shown: list.shown && { ...row },
          }))
        : (await engine.rows<SmallRow>(statement, options)).map((row) =>
            pageRow(row, isSmall(row) ? read(namedAsStored(row)) : undefined),
          );
    const rows = found.filter(({ id, version }) => version > (hidden.calls.get(id)?.upTo ?? -1n));
    return { rows, complete: found.length < limit };
  };
}

interface Hidden {
  calls: ReadonlyMap<string, HiddenCall>;
  /** How many rows they have. */
  rows: number;
}

const none: Hidden = { calls: new Map(), rows: 0 };

/** The hidden calls of a project, if they are few. */
function hiddenToDrop({ project_id, inFlight }: CallScope): Hidden {
  const calls = inFlight.hidden(project_id) ?? none.calls;
  const rows = [...calls.values()].reduce((sum, call) => sum + call.rows, 0);
  return rows === 0 || rows > maxDropped ? none : { calls: new Map(calls), rows };
}

/** Keys, and with `smallBytes` all columns briefly, where payloads of calls of at least that size are left out. */
function pageStatement(list: PlannedCalls, smallBytes: number, which: WhichRows): Statement {
  const p = new Parameters();
  const cut = (column: string) =>
    isPayload(column)
      ? `if(size_bytes < ${p.bind("UInt32", smallBytes)}, ${column}, defaultValueOfArgumentType(${column})) AS small_${column}`
      : column;
  const columns = [
    ...new Set([
      "id",
      "version",
      "toUnixTimestamp64Micro(started_at) AS started_us",
      "size_bytes AS bytes",
      ...(smallBytes === 0 ? [] : briefly(list.select).map(cut)),
      ...(list.shown?.(p) ?? []),
    ]),
  ];
  const { calls, isUnion, order } = compileList(list, p, columns, which);
  const seeks = list.plan.seek !== undefined;
  if (!isUnion && !seeks) return { sql: calls, params: p };
  const selected = [...columnNames(columns), ...(seeks ? [positionColumn(order)] : [])].join(", ");
  const sql = `SELECT ${selected} FROM (${calls}) ORDER BY ${order.orderBy}${pageClause(p, { limit: which.limit })}`;
  return { sql, params: p };
}

/** All rows of a list, briefly and those of no trace whole, from its offset to its limit. */
export function streamStatement(list: CallList): Statement {
  const p = new Parameters();
  const { limit, offset } = list;
  const { project_id, inFlight } = list.scope();
  const duplicates = spareRows + inFlight.closing(project_id).size;
  const most = limit === undefined ? undefined : limit + offset + duplicates;
  const isOfTraces = list.plan.filter.trace_ids?.length;
  const select = briefly(list.select, isOfTraces ? undefined : "whole");
  const { calls, isUnion, order } = compileList(list, p, select, { limit: most });
  if (!isUnion && most === undefined && offset === 0) {
    return { sql: `${calls}, version DESC LIMIT 1 BY id`, params: p };
  }
  const names = columnNames(select).join(", ");
  const sql = `SELECT ${names} FROM (${calls}) ORDER BY ${order.orderBy}, version DESC LIMIT 1 BY id`;
  return { sql: sql + pageClause(p, { limit, offset }), params: p };
}

interface WhichRows extends Pick<CallSelection, "only" | "withHidden"> {
  limit: number | undefined;
}

/** A list in its order, up to a limit. */
function compileList(
  { plan, scope: scopeNow, byId }: PlannedCalls,
  p: Parameters,
  select: readonly string[],
  which: WhichRows,
): { calls: string; isUnion: boolean; order: CallOrder } {
  const scope = scopeNow();
  const { order, conditions } = compileSortedCalls(plan, scope, p, byId);
  const calls = visibleCalls(scope, p, {
    ...conditions,
    select: [...new Set(["started_at", "id", "version", ...select, ...order.select])],
    ...which,
    orderBy: order.orderBy,
  });
  return { calls, isUnion: which.only === undefined && readsRunning(scope, conditions), order };
}

/** Columns that are read besides those of a source. */
type Columns = (p: Parameters) => readonly string[];

/**
 * The newest visible version of some calls, wherever it is by now: a running call may have ended since its key was
 * read. What moved to another time is looked for by id alone; what was deleted is missing.
 */
export async function fetchCalls<Row extends { id: string } = CallRow>(
  source: CallSource,
  located: LocatedCalls,
  columns?: Columns,
): Promise<Map<string, Row>> {
  const found = await fetchWhere<Row>(source, (p) => ({ where: at(p, located), ids: located.ids }), columns);
  const missing = located.ids.filter((id) => !found.has(id));
  if (missing.length === 0) return found;
  const moved = await fetchWhere<Row>(
    source,
    (p) => ({ where: [p.in("id", "String", missing)], ids: missing, lookUp: true }),
    columns,
  );
  return new Map([...found, ...moved]);
}

/** The newest visible version of the calls that meet some conditions, by id. */
export async function fetchWhere<Row extends { id: string } = CallRow>(
  { engine, scope, select, signal }: CallSource,
  which: (p: Parameters) => Omit<CallSelection, "select">,
  columns: Columns = () => [],
): Promise<Map<string, Row>> {
  const statement = () => {
    const p = new Parameters();
    return { sql: visibleCalls(scope(), p, { select: ["version", ...select, ...columns(p)], ...which(p) }), params: p };
  };
  const rows = await engine.rows<Row & { version: string }>(statement, { signal, settings: wholeListSettings });
  return newestBy(rows, ({ id }) => id);
}
