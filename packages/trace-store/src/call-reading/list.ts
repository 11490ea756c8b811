import { setImmediate } from "node:timers/promises";
import { callConditions } from "./locate.js";
import type { Reserve } from "../context.js";
import type { HiddenCall } from "../stored-calls/hidden-call.js";
import type { Engine, Statement, StatementOptions } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { at, compileSortedCalls, findsAll, whichCalls } from "../query/call-query.js";
import type { CallPlan, CallsById, LocatedCalls } from "../query/call-query.js";
import { pageClause } from "../query/page.js";
import { readSeparately } from "../visibility/read-separately.js";
import { newestBy } from "../schema/newest-by.js";
import { columnNames } from "../stored-calls/stored-call.js";
import type { CallRow } from "../stored-calls/stored-call.js";
import { inTableOrder } from "./table-order.js";
import { runningInMemory } from "./running-in-memory.js";
import { readsRunning, visibleCalls } from "../visibility/visible-calls.js";
import type { CallScope, CallSelection } from "../visibility/visible-calls.js";

export interface CallSource {
  engine: Engine;
  scope: () => CallScope;
  /** As `callColumns` makes it. */
  select: readonly string[];
  signal: AbortSignal | undefined;
  reserve: Reserve | undefined;
}

/** A list of calls to read. */
export interface CallList extends CallSource {
  plan: CallPlan;
  /** The calls of `filter.call_ids`. */
  byId: CallsById | undefined;
  /** Finds the calls by id when only these are `within` where they should be. */
  find: (found: LocatedCalls) => Promise<CallsById | undefined>;
  limit: number | undefined;
  offset: number;
}

/** Up to here a page is read by its keys, see {@link pageOfCalls}; a longer list is a stream. */
const pageRows = 1000;
/** Up to here a page in the order of the table is read with its payloads. */
const shortPageRows = 200;
/** Payloads that are fetched, and held in memory, at a time. */
const fetchBytes = 4 * 1024 * 1024;
/** Hidden rows that a page may read for nothing. */
const maxDropped = 200;
/** Rows to spare for calls that have two, besides those known to be in flight: after a crash, or when one just ended. */
const slackRows = 16;

/**
 * Filters over payloads stop at the newest matches instead of reading ahead in every part. Long conditions and lists
 * of operands make long statements.
 */
const listSettings: StatementOptions["settings"] = { read_in_order_use_buffering: 0, max_query_size: "16777216" };

/** Rows of a list, in order. */
export function readCallRows(list: CallList): AsyncIterable<CallRow> {
  const { limit = Number.POSITIVE_INFINITY, offset, byId } = list;
  const mostRows = Math.min(limit + offset, byId?.ids.length ?? Number.POSITIVE_INFINITY);
  return mostRows <= pageRows ? pageOfCalls(list, mostRows) : streamOfCalls(list);
}

/** One statement with back-pressure: nothing is held here, however long the list. */
function streamOfCalls(list: CallList): AsyncIterable<CallRow> {
  // A reader may take its time: the engine's limit for statements would cut a long result short. All matches are wanted, so
  // that all indexes are read first, not part by part until there are enough rows.
  const settings = { ...listSettings, max_execution_time: 0, use_skip_indexes_on_data_read: 0 as const };
  return list.engine.stream<CallRow>(() => streamStatement(list), { signal: list.signal, settings });
}

interface CallPosition {
  id: string;
  version: string;
  started_us: string;
  bytes: string;
  /** The whole row was found in memory. */
  inMemory?: true;
}

/**
 * Keys first, then the payloads of just these calls, a few megabytes at a time: conditions and order read no other payload.
 * Calls by id, and a short page in the order of the table, get the small payloads with the keys, which saves most of them the
 * second statement.
 */
async function* pageOfCalls(list: CallList, mostRows: number): AsyncGenerator<CallRow, void, undefined> {
  const { byId, limit, offset, select } = list;
  const { visible, smallBytes } = await visiblePage(list, mostRows);
  if (byId?.within !== undefined && visible.length < byId.ids.length) {
    const all = await list.find(positions(visible));
    if (all !== undefined && all.ids.length > visible.length) {
      yield* pageOfCalls({ ...list, byId: all }, mostRows);
      return;
    }
  }
  const page = visible.slice(offset, limit === undefined ? undefined : offset + limit);
  const isWhole = ({ inMemory, bytes }: CallPosition) => inMemory === true || Number(bytes) < smallBytes;
  for (const { keys, bytes } of bySize(page)) {
    const release = await list.reserve?.(bytes);
    try {
      const large = keys.filter((key) => !isWhole(key));
      const fetched = large.length === 0 ? undefined : await fetchCalls(list, large);
      for (const key of keys) {
        const row = isWhole(key) ? wholeRow(key as CallPosition & CallRow, select) : fetched?.get(key.id);
        if (row !== undefined) yield row;
      }
    } finally {
      release?.();
    }
  }
}

/** The first calls of a list; those of fewer bytes than `smallBytes` are whole. */
async function visiblePage(list: CallList, mostRows: number): Promise<{ visible: CallPosition[]; smallBytes: number }> {
  const { plan, byId, signal, engine } = list;
  const isShort = byId !== undefined || (mostRows <= shortPageRows && isInTableOrder(plan));
  const dropsHidden = findsAll(plan) && hiddenToDrop(list.scope()) !== undefined;
  const smallBytes = isShort ? Math.floor(fetchBytes / (mostRows + (dropsHidden ? maxDropped : 0))) : 0;
  // A few calls are sorted sooner than the table is read in order.
  const settings = byId === undefined ? listSettings : { ...listSettings, optimize_read_in_order: 0 as const };
  const visible = await firstVisible(mostRows, async (slack, truncated) => {
    return await readTables(list, mostRows + slack, truncated, async (only) => {
      let made: PageStatement | undefined;
      const statement = () => (made = pageStatement(list, smallBytes, { only, dropsHidden, slack }));
      const read = await engine.rows<CallPosition>(statement, { signal, settings });
      const kept = read.filter(({ id, version }) => BigInt(version) > (made?.hidden?.calls.get(id)?.upTo ?? -1n));
      if (made?.limit !== undefined && read.length >= made.limit) truncated.push(kept);
      return kept;
    });
  });
  return { visible, smallBytes };
}

/**
 * The first calls of a list, each by its newest row. `read` returns rows in order, and adds to `truncated` those of each table that
 * may have more. Few calls have two rows, so that no more are read than the page has; when such calls leave one of these tables
 * without enough rows all is read again, with some to spare: what is missing could come before what another table has.
 */
async function firstVisible(
  mostRows: number,
  read: (slack: number, truncated: CallPosition[][]) => Promise<CallPosition[]>,
): Promise<CallPosition[]> {
  for (let slack = 0; ; slack = 2 * slack + slackRows) {
    const truncated: CallPosition[][] = [];
    const rows = await read(slack, truncated);
    const newest = newestBy(rows, ({ id }) => id);
    const isVisible = (row: CallPosition) => newest.get(row.id) === row;
    if (truncated.every((table) => table.filter(isVisible).length >= mostRows)) return rows.filter(isVisible);
  }
}

/**
 * Reads complete and running calls apart where their rows can be merged here: running ones out of memory, or else side by
 * side, which takes two thirds of the time of a statement about both.
 */
async function readTables(
  { plan, byId, scope: scopeNow }: CallList,
  mostRows: number,
  truncated: CallPosition[][],
  read: (only?: CallSelection["only"]) => Promise<CallPosition[]>,
): Promise<CallPosition[]> {
  const scope = scopeNow();
  if (!isInTableOrder(plan) || !readsRunning(scope, whichCalls(plan, byId))) return await read();
  const first = { direction: plan.sort[0]?.direction ?? "asc", most: mostRows };
  const findRunning: (() => CallPosition[]) | undefined = runningInMemory(plan, scope, byId, first);
  if (findRunning !== undefined) {
    const [running, complete] = await Promise.all([setImmediate().then(findRunning), read("complete")]);
    if (running.length === mostRows) truncated.push(running);
    return merged(plan, [...running, ...complete]);
  }
  const sideBySide = async () => merged(plan, (await Promise.all([read("running"), read("complete")])).flat());
  return await readSeparately(scope, sideBySide, async () => {
    truncated.length = 0;
    return await read();
  });
}

function merged({ sort }: CallPlan, rows: readonly CallPosition[]): CallPosition[] {
  const positions = rows.map((row) => ({ id: row.id, started_at: BigInt(row.started_us), row }));
  return inTableOrder(positions, sort[0]?.direction ?? "asc").map(({ row }) => row);
}

const isInTableOrder = ({ sort }: CallPlan): boolean =>
  sort.length === 1 && sort[0]?.field.kind === "column" && sort[0].field.name === "started_at";

/** Columns of any size. Where large ones are left out they have a name of their own, since conditions use them, too. */
const payloadColumns: ReadonlySet<string> = new Set(["attributes", "inputs", "output", "summary", "exact"]);
const cutName = (column: string): string => `small_${column}`;

function wholeRow(row: CallPosition & CallRow, select: readonly string[]): CallRow {
  if (row.inMemory === true) {
    const names = new Set(columnNames(select));
    return Object.fromEntries(Object.entries(row).filter(([name]) => names.has(name))) as unknown as CallRow;
  }
  const cut: Record<string, unknown> = { ...row };
  for (const column of select) if (payloadColumns.has(column)) cut[column] = cut[cutName(column)];
  return cut as unknown as CallRow;
}

type PageStatement = Statement & Pick<CompiledList, "hidden" | "limit">;

/** Keys, and with `smallBytes` all columns, where payloads of calls of at least that size are left out. */
function pageStatement(list: CallList, smallBytes: number, which: Which): PageStatement {
  const p = new Parameters();
  const cut = (column: string) =>
    payloadColumns.has(column)
      ? `if(size_bytes < ${p.bind("UInt32", smallBytes)}, ${column}, defaultValueOfArgumentType(${column})) AS ${cutName(column)}`
      : column;
  const columns = [
    ...new Set([
      "id",
      "version",
      "toUnixTimestamp64Micro(started_at) AS started_us",
      "size_bytes AS bytes",
      ...(smallBytes === 0 ? [] : list.select.map(cut)),
    ]),
  ];
  const { calls, isUnion, order, limit, hidden } = compileList(list, p, columns, which);
  if (!isUnion) return { sql: calls, params: p, hidden, limit };
  const names = columnNames(columns).join(", ");
  const sql = `SELECT ${names} FROM (${calls}) ORDER BY ${order}${pageClause(p, { limit })}`;
  return { sql, params: p, hidden, limit };
}

function streamStatement(list: CallList): Statement {
  const p = new Parameters();
  const { calls, isUnion, order } = compileList(list, p, list.select);
  const { limit, offset } = list;
  if (!isUnion && limit === undefined && offset === 0)
    return { sql: `${calls}, version DESC LIMIT 1 BY id`, params: p };
  const names = columnNames(list.select).join(", ");
  const sql = `SELECT ${names} FROM (${calls}) ORDER BY ${order}, version DESC LIMIT 1 BY id`;
  return { sql: sql + pageClause(p, { limit, offset }), params: p };
}

interface Which {
  only?: CallSelection["only"];
  /** Few hidden calls may be among the rows, to be dropped here. */
  dropsHidden?: boolean;
  /** Rows to spare. */
  slack?: number;
}

interface CompiledList {
  calls: string;
  isUnion: boolean;
  order: string;
  limit: number | undefined;
  /** To be dropped. */
  hidden: Hidden | undefined;
}

/** A list in its order, with enough rows for the page although some calls may have two. */
function compileList(
  { plan, scope: scopeNow, byId, offset, limit }: CallList,
  p: Parameters,
  select: readonly string[],
  { only, dropsHidden, slack = slackRows }: Which = {},
): CompiledList {
  const scope = scopeNow();
  const compiled = compileSortedCalls(plan, scope, p, byId);
  const order = compiled.order.orderBy;
  const duplicates = slack + scope.inFlight.closing(scope.project_id).size;
  const isUnion = only === undefined && readsRunning(scope, compiled.conditions);
  const hidden = dropsHidden === true && !isUnion && only !== "running" ? hiddenToDrop(scope) : undefined;
  const selection = {
    ...compiled.conditions,
    select: [...new Set(["started_at", "id", "version", ...select, ...compiled.order.select])],
    only,
    orderBy: order,
    limit: limit === undefined ? undefined : limit + offset + duplicates + (hidden?.rows ?? 0),
    withHidden: hidden !== undefined,
  };
  return { calls: visibleCalls(scope, p, selection), isUnion, order, limit: selection.limit, hidden };
}

interface Hidden {
  calls: ReadonlyMap<string, HiddenCall>;
  rows: number;
}

/**
 * The hidden calls of a project as they are now, if they are few. Without any condition the engine reads just the rows of a
 * page, which is faster than to leave the hidden ones out.
 */
function hiddenToDrop({ project_id, inFlight }: CallScope): Hidden | undefined {
  const calls = new Map(inFlight.hidden(project_id));
  const rows = [...calls.values()].reduce((sum, call) => sum + call.rows, 0);
  return rows === 0 || rows > maxDropped ? undefined : { calls, rows };
}

function positions(rows: readonly CallPosition[]): LocatedCalls {
  const times = new Set(rows.map(({ started_us }) => BigInt(started_us)));
  return { ids: rows.map(({ id }) => id), started_at: [...times] };
}

/**
 * The newest visible version of some calls, wherever it is by now: a running call may have ended since its key was
 * read. What moved to another time is looked for by id alone; what was deleted is missing.
 */
async function fetchCalls(list: CallList, keys: readonly CallPosition[]): Promise<Map<string, CallRow>> {
  const located = positions(keys);
  const found = await fetchWhere(list, (p) => ({ where: at(p, located), ids: located.ids }));
  const missing = located.ids.filter((id) => !found.has(id));
  if (missing.length === 0) return found;
  const moved = await fetchWhere(list, (p) => ({ where: [p.in("id", "String", missing)], ids: missing }));
  return new Map([...found, ...moved]);
}

/** Reads one call, first where memory says or near the time that its id carries. */
export async function fetchCall(source: CallSource, id: string): Promise<CallRow | undefined> {
  for (const condition of callConditions(source.scope(), id)) {
    const row = (await fetchWhere(source, (p) => ({ where: condition(p), ids: [id] }))).get(id);
    if (row !== undefined) return row;
  }
  return undefined;
}

async function fetchWhere(
  source: CallSource,
  which: (p: Parameters) => Omit<CallSelection, "select">,
): Promise<Map<string, CallRow>> {
  const { engine, scope, select, signal } = source;
  const statement = () => {
    const p = new Parameters();
    return { sql: visibleCalls(scope(), p, { select: ["version", ...select], ...which(p) }), params: p };
  };
  const rows = await engine.rows<CallRow & { version: string }>(statement, { signal, settings: listSettings });
  return newestBy(rows, ({ id }) => id);
}

interface KeyGroup {
  keys: CallPosition[];
  bytes: number;
}

function bySize(keys: readonly CallPosition[]): KeyGroup[] {
  const groups: KeyGroup[] = [];
  for (const key of keys) {
    const size = Number(key.bytes);
    const group = groups.at(-1);
    if (group === undefined || group.bytes + size > fetchBytes) {
      groups.push({ keys: [key], bytes: size });
    } else {
      group.keys.push(key);
      group.bytes += size;
    }
  }
  return groups;
}
