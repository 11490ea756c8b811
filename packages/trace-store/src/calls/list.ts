import { callConditions } from "./locate.js";
import type { Reserve } from "../context.js";
import type { Engine, Statement, StatementOptions } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { at, compileSortedCalls } from "../query/call-query.js";
import type { CallPlan, LocatedCalls } from "../query/call-query.js";
import { pageClause } from "../query/page.js";
import { columnNames } from "./stored-call.js";
import type { CallRow } from "./stored-call.js";
import { readsRunning, visibleCalls } from "../query/visible-calls.js";
import type { CallScope, CallSelection } from "../query/visible-calls.js";

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
  /** Where the calls of `filter.call_ids` are. */
  located: LocatedCalls | undefined;
  limit: number | undefined;
  offset: number;
}

/** Up to here a page is read by its keys, see {@link pageOfCalls}; a longer list is a stream. */
const pageRows = 1000;
/** Up to here a page in the order of the table is read with its payloads. */
const shortPageRows = 200;
/** Payloads that are fetched, and held in memory, at a time. */
const fetchBytes = 4 * 1024 * 1024;
/** Duplicates that a branch may have among its first rows during commits, besides those known to be in flight. */
const slackRows = 16;

/**
 * Filters over payloads stop at the newest matches instead of reading ahead in every part. Long conditions and lists
 * of operands make long statements.
 */
const listSettings: StatementOptions["settings"] = { read_in_order_use_buffering: 0, max_query_size: "16777216" };

/** Rows of a list, in order. */
export function readCallRows(list: CallList): AsyncIterable<CallRow> {
  const { limit, offset, located } = list;
  const isPage = limit !== undefined && limit + offset <= pageRows && located === undefined;
  return isPage ? pageOfCalls(list) : streamOfCalls(list);
}

/** One statement with back-pressure: nothing is held here, however long the list. */
function streamOfCalls(list: CallList): AsyncIterable<CallRow> {
  // A reader may take its time: the engine's limit for statements would cut a long result short.
  const settings = { ...listSettings, max_execution_time: 0 };
  return list.engine.stream<CallRow>(() => listStatement(list, list.select), { signal: list.signal, settings });
}

interface CallPosition {
  id: string;
  started_us: string;
  bytes: string;
}

/**
 * Keys first, then the payloads of just these calls, a few megabytes at a time: conditions and order read no other payload.
 * A short page in the order of the table gets the small payloads with the keys, which saves most pages the second statement.
 */
async function* pageOfCalls(list: CallList): AsyncGenerator<CallRow, void, undefined> {
  const { limit = 0, offset, plan, select, signal, engine } = list;
  const rows = limit + offset;
  const smallBytes = rows <= shortPageRows && isInTableOrder(plan) ? Math.floor(fetchBytes / rows) : 0;
  const position = ["id", "toUnixTimestamp64Micro(started_at) AS started_us", "size_bytes AS bytes"];
  const columns = smallBytes === 0 ? position : [...new Set([...position, ...select])];
  const statement = () => listStatement(list, columns, smallBytes);
  const keys = await engine.rows<CallPosition>(statement, { signal, settings: listSettings });
  const isSmall = (row: CallPosition): row is CallPosition & CallRow => Number(row.bytes) < smallBytes;
  for (const { keys: some, bytes } of bySize(keys)) {
    const release = await list.reserve?.(bytes);
    try {
      const large = some.filter((row) => !isSmall(row));
      const fetched = large.length === 0 ? undefined : await fetchCalls(list, large);
      for (const key of some) {
        const row = isSmall(key) ? key : fetched?.get(key.id);
        if (row !== undefined) yield row;
      }
    } finally {
      release?.();
    }
  }
}

const isInTableOrder = ({ sort }: CallPlan): boolean =>
  sort.length === 1 && sort[0]?.field.kind === "column" && sort[0].field.name === "started_at";

/** Columns of any size. Under a name of their own where large ones are left out, since conditions use them, too. */
const payloadColumns: ReadonlySet<string> = new Set(["attributes", "inputs", "output", "summary", "exact"]);

/** Payloads of calls that have at least `smallBytes` are left out, unless it is 0. */
function listStatement(
  { plan, scope: scopeNow, located, offset, limit }: CallList,
  select: readonly string[],
  smallBytes = 0,
): Statement {
  const p = new Parameters();
  const isCut = (column: string) => smallBytes > 0 && payloadColumns.has(column);
  const cut = (column: string) =>
    isCut(column)
      ? `if(size_bytes < ${p.bind("UInt32", smallBytes)}, ${column}, defaultValueOfArgumentType(${column})) AS small_${column}`
      : column;
  const scope = scopeNow();
  const { order, conditions } = compileSortedCalls(plan, scope, p, located);
  const duplicates = slackRows + scope.inFlight.closing(scope.project_id).length;
  const selection = {
    ...conditions,
    select: [...new Set(["started_at", "id", "version", ...select.map(cut), ...order.select])],
    orderBy: order.orderBy,
  };
  if (limit === undefined && offset === 0 && !readsRunning(scope, conditions)) {
    const orderBy = `${order.orderBy}, version DESC LIMIT 1 BY id`;
    return { sql: visibleCalls(scope, p, { ...selection, orderBy }), params: p };
  }
  const union = visibleCalls(scope, p, {
    ...selection,
    limit: limit === undefined ? undefined : limit + offset + duplicates,
  });
  const columns = columnNames(select).map((name) => (isCut(name) ? `small_${name} AS ${name}` : name));
  const all = `SELECT ${columns.join(", ")} FROM (${union}) ORDER BY ${order.orderBy}, version DESC LIMIT 1 BY id`;
  return { sql: all + pageClause(p, { limit, offset }), params: p };
}

/**
 * The newest visible version of some calls, wherever it is by now: a running call may have ended since its key was
 * read. What moved to another time is looked for by id alone; what was deleted is missing.
 */
async function fetchCalls(list: CallList, keys: readonly CallPosition[]): Promise<Map<string, CallRow>> {
  const located = {
    ids: keys.map(({ id }) => id),
    started_at: [...new Set(keys.map(({ started_us }) => BigInt(started_us)))],
  };
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
  // The engine would take longer to leave out the older versions, of which there are hardly any.
  const newest = new Map<string, CallRow & { version: string }>();
  for (const row of rows) {
    const known = newest.get(row.id);
    if (known === undefined || BigInt(row.version) > BigInt(known.version)) newest.set(row.id, row);
  }
  return newest;
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
