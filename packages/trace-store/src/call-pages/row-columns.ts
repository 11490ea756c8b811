import { addUsage, opNamePart, reportedUsage, wholeMilliseconds } from "@heddle/trace-model";
import type { CallStatus } from "@heddle/trace-model";
import type { JsonText } from "@heddle/exact-json";
import { costOf, totalCost } from "../costs/cost-of.js";
import type { PriceBook } from "../costs/price-book.js";
import type { SearchMatch } from "./find-matches.js";
import type { CutValue } from "./leaf-columns.js";
import type { CallSelect, RowProperty } from "./call-select.js";

/** What can be computed or looked up for each call. */
export interface Included {
  costs: boolean;
  feedback: boolean;
  sizes: boolean;
}

/** One call with what was asked for: an absent property is null, or was not asked for. */
export interface CallPageRow {
  id: string;
  /** The version of the last change of the call, its name included. */
  seq: bigint;
  /** Microseconds since 1970, as all times. */
  started_at: bigint;
  trace_id?: string | undefined;
  parent_id?: string | undefined;
  thread_id?: string | undefined;
  turn_id?: string | undefined;
  op_name?: string | undefined;
  name?: string | undefined;
  status?: CallStatus | undefined;
  ended_at?: bigint | undefined;
  latency_ms?: number | undefined;
  exception?: string | undefined;
  user_id?: string | undefined;
  tokens?: number | undefined;
  cost?: number | undefined;
  size_bytes?: number | undefined;
  feedback?: readonly JsonText[] | undefined;
  /** A JSON object of leaves by their paths. */
  values?: JsonText | undefined;
  cut?: ReadonlyArray<readonly [path: string, value: CutValue]> | undefined;
  matches?: SearchMatch[] | undefined;
}

/** A row of what {@link rowColumns} selects. */
export interface StoredRow {
  id: string;
  version: string;
  started_us: string;
  trace_id?: string;
  parent_id?: string;
  thread_id?: string;
  turn_id?: string;
  op?: string;
  display_name?: string;
  state?: CallStatus;
  ended_us?: string | null;
  latency_us?: string | null;
  failure?: string | null;
  user_id?: string;
  usage_text?: string;
  size_bytes?: string;
  [column: string]: unknown;
}

/** A name given to a call after its start. */
export interface Rename {
  display_name: string;
  version: bigint;
}

/** An exception may be as long as a document. */
const exceptionCharacters = 10_000;

const usage = "JSONExtractRaw(summary, 'usage')";

/** What each property is read from. Names differ where one would hide a stored column from conditions. */
const sources: Readonly<Record<RowProperty, readonly string[]>> = {
  trace_id: ["trace_id"],
  parent_id: ["parent_id"],
  thread_id: ["thread_id"],
  turn_id: ["turn_id"],
  op_name: ["toString(op_name) AS op"],
  name: ["toString(op_name) AS op", "display_name"],
  status: ["toString(status) AS state"],
  ended_at: ["toUnixTimestamp64Micro(ended_at) AS ended_us"],
  latency_ms: ["latency_us"],
  exception: [`leftUTF8(ifNull(exception, ''), ${exceptionCharacters}) AS failure`],
  user: ["user_id"],
  tokens: [],
};

/** The columns of the properties of a row. Usage, which is of any size, only of calls of which `isSmall` is true. */
export function rowColumns({ properties }: CallSelect, { costs, sizes }: Included, isSmall?: string): string[] {
  const readsUsage = costs || properties.has("tokens");
  return [
    ...new Set([
      "id",
      "toUnixTimestamp64Micro(started_at) AS started_us",
      ...[...properties].flatMap((name) => sources[name]),
      ...(readsUsage ? [`${isSmall === undefined ? usage : `if(${isSmall}, ${usage}, '')`} AS usage_text`] : []),
      ...(sizes ? ["size_bytes"] : []),
    ]),
  ];
}

/** The properties of a row. `book` has the prices where costs were asked for. */
export function readRow(
  row: StoredRow,
  { properties }: CallSelect,
  { rename, book }: { rename: Rename | undefined; book: PriceBook | undefined },
): CallPageRow {
  const has = (name: RowProperty) => properties.has(name);
  const version = BigInt(row.version);
  const startedAt = BigInt(row.started_us);
  const usage = row.usage_text ? reportedUsage(`{"usage":${row.usage_text}}`) : [];
  const latency = row.latency_us;
  return {
    id: row.id,
    seq: rename !== undefined && rename.version > version ? rename.version : version,
    started_at: startedAt,
    trace_id: row.trace_id,
    parent_id: row.parent_id || undefined,
    thread_id: row.thread_id || undefined,
    turn_id: row.turn_id || undefined,
    ...(has("op_name") && { op_name: row.op }),
    ...(has("name") && { name: (rename?.display_name ?? row.display_name) || opNamePart(row.op ?? "") }),
    status: row.state,
    ended_at: row.ended_us ? BigInt(row.ended_us) : undefined,
    latency_ms: typeof latency === "string" ? wholeMilliseconds(BigInt(latency)) : undefined,
    exception: row.failure || undefined,
    user_id: row.user_id || undefined,
    ...(has("tokens") && usage.length > 0 && { tokens: usage.reduce(addUsage).total_tokens }),
    ...(book !== undefined && { cost: costAt(usage, startedAt, book) }),
    ...(row.size_bytes !== undefined && { size_bytes: Number(row.size_bytes) }),
  };
}

/** What usage costs by the prices at a time; undefined where no model has one. */
function costAt(usage: ReturnType<typeof reportedUsage>, at: bigint, book: PriceBook): number | undefined {
  const costs = usage.flatMap((entry) => {
    const price = book.priceAt(entry.model, at);
    return price === undefined ? [] : [totalCost(costOf(entry, price))];
  });
  return costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0);
}
