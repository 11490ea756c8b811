import { mainThread } from "@heddle/concurrency";
import type { CallKind, CallStatus, UsageRow } from "@heddle/trace-model";
import type { ReadOptions } from "../context.js";
import { costOf, totalCost } from "../costs/cost-of.js";
import type { PriceBook } from "../costs/price-book.js";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { fieldValue } from "../query/call-columns.js";
import { usageCounts } from "../stored-calls/call-sides.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import type { CallScope } from "../visibility/call-scope.js";

/** Of one trace, from where and for whom. */
export interface TraceSource extends ReadOptions {
  engine: Engine;
  scope: () => CallScope;
  traceId: string;
}

/** What is read of each call. */
export interface ReadTraceOptions {
  /** Prices, where costs are asked for. */
  book: PriceBook | undefined;
  sizes: boolean;
  digests: boolean;
  /** Calls at most, the ones that started first. */
  most: number;
  /** Only calls that started at this time or later. Microseconds since 1970. */
  from?: bigint | undefined;
}

/** Calls of a trace in the order of their start, each once, as one list for each property. */
export class TraceColumns {
  readonly ids: string[] = [];
  readonly parentIds: string[] = [];
  /** Positions in {@link names}. */
  readonly name: number[] = [];
  readonly kind: CallKind[] = [];
  readonly status: CallStatus[] = [];
  /** Microseconds since 1970. */
  readonly startUs: number[] = [];
  /** Null while a call runs. */
  readonly endUs: Array<number | null> = [];
  readonly tokens: number[] = [];
  readonly cost: Array<number | null> = [];
  readonly size: number[] = [];
  readonly inputDigest: string[] = [];
  readonly outputDigest: string[] = [];
  readonly names: string[] = [];
  /** More calls than were to be read. */
  isCut = false;
  readonly #places = new Map<string, number>();

  /** Returns the bytes that a call takes. */
  add(row: TraceRow, cost: number | null | undefined): number {
    let place = this.#places.get(row.name);
    let bytes = callBytes + row.id.length + row.parent_id.length;
    if (place === undefined) {
      place = this.names.push(row.name) - 1;
      this.#places.set(row.name, place);
      bytes += callBytes + row.name.length;
    }
    this.ids.push(row.id);
    this.parentIds.push(row.parent_id);
    this.name.push(place);
    this.kind.push(row.kind);
    this.status.push(row.state);
    this.startUs.push(Number(row.started_us));
    this.endUs.push(row.ended_us === null ? null : Number(row.ended_us));
    this.tokens.push(Number(row.tokens));
    if (cost !== undefined) this.cost.push(cost);
    if (row.size !== undefined) this.size.push(Number(row.size));
    if (row.input_digest !== undefined) this.inputDigest.push(row.input_digest);
    if (row.output_digest !== undefined) this.outputDigest.push(row.output_digest);
    return bytes;
  }
}

/** About the memory of the numbers and references of a call, here and in the response. */
const callBytes = 200;
/** After so many calls their memory is reserved, and others may work. */
const slice = 1024;

interface TraceRow {
  id: string;
  parent_id: string;
  version: string;
  name: string;
  kind: CallKind;
  state: CallStatus;
  started_us: string;
  ended_us: string | null;
  tokens: string;
  size?: string;
  input_digest?: string;
  output_digest?: string;
  models?: string[];
  counts?: string[][];
}

const traceName = fieldValue({ kind: "weave", name: "trace_name", text: "", type: "text" });
/** Of the texts that were sent; the columns have others where the engine cannot read those. */
const digestOf = (...texts: string[]) => `lower(leftPad(hex(toUInt32(sipHash64(${texts.join(", ")}))), 8, '0'))`;
const digestColumns = [
  `${digestOf("inputs", "exact['inputs']")} AS input_digest`,
  `${digestOf("output", "exact['output']", "ifNull(exception, '')")} AS output_digest`,
];
const callKind = fieldValue({ kind: "weave", name: "kind", text: "", type: "text" });

export async function readTrace(
  { engine, scope, traceId, signal, reserve }: TraceSource,
  { book, sizes, digests, most, from }: ReadTraceOptions,
): Promise<TraceColumns> {
  const statement = () => {
    const p = new Parameters();
    const columns = [
      "id",
      "parent_id",
      "version",
      `${traceName} AS name`,
      `${callKind} AS kind`,
      "toString(status) AS state",
      "toUnixTimestamp64Micro(started_at) AS started_us",
      "toUnixTimestamp64Micro(ended_at) AS ended_us",
      "arraySum(`usage.total_tokens`) AS tokens",
      ...(sizes ? ["size_bytes AS size"] : []),
      ...(digests ? digestColumns : []),
      ...(book === undefined
        ? []
        : ["`usage.model` AS models", `[${usageCounts.map((name) => `\`usage.${name}\``).join(", ")}] AS counts`]),
    ];
    const calls = visibleCalls(scope(), p, {
      select: columns,
      names: true,
      where: [
        `trace_id = ${p.bind("String", traceId)}`,
        ...(from === undefined ? [] : [`started_at >= ${p.time(from)}`]),
      ],
      traceIds: [traceId],
    });
    // A call that has just ended has two rows, as one has whose replacement was interrupted: the newest counts.
    const newest = `SELECT * FROM (${calls}) ORDER BY version DESC LIMIT 1 BY id`;
    return { sql: `SELECT * FROM (${newest}) ORDER BY started_us, id LIMIT ${p.bind("UInt32", most + 1)}`, params: p };
  };
  const trace = new TraceColumns();
  let bytes = 0;
  for await (const row of engine.stream<TraceRow>(statement, { signal })) {
    if (trace.ids.length === most) {
      trace.isCut = true;
      break;
    }
    bytes += trace.add(row, book && priceOf(row, book));
    if (trace.ids.length % slice !== 0) continue;
    await reserve?.(bytes);
    bytes = 0;
    await mainThread.giveWay();
  }
  await reserve?.(bytes);
  return trace;
}

/** Null where no model has a price. */
function priceOf({ started_us, models = [], counts = [] }: TraceRow, book: PriceBook): number | null {
  let sum: number | null = null;
  for (const [index, model] of models.entries()) {
    const price = book.priceAt(model, BigInt(started_us));
    if (price === undefined) continue;
    const named = usageCounts.map((name, column) => [name, Number(counts[column]?.[index] ?? 0)] as const);
    const usage = { model, ...(Object.fromEntries(named) as Omit<UsageRow, "model">) };
    sum = (sum ?? 0) + totalCost(costOf(usage, price));
  }
  return sum;
}

/** How many calls the trace has. */
export async function countTrace({ engine, scope, traceId, signal }: TraceSource): Promise<number> {
  const statement = () => {
    const p = new Parameters();
    const where = [`trace_id = ${p.bind("String", traceId)}`];
    const calls = visibleCalls(scope(), p, { select: ["id"], where, traceIds: [traceId] });
    return { sql: `SELECT uniqExact(id) AS calls FROM (${calls})`, params: p };
  };
  const [row] = await engine.rows<{ calls: string }>(statement, { signal });
  return Number(row?.calls ?? 0);
}

/** When calls of the trace started, by id; those that are not there are absent. */
export async function startsInTrace(
  { engine, scope, traceId, signal }: TraceSource,
  column: "id" | "parent_id",
  ids: readonly string[],
): Promise<Map<string, bigint>> {
  const statement = () => {
    const p = new Parameters();
    const where = [`trace_id = ${p.bind("String", traceId)}`, p.in(column, "String", ids)];
    const select = [`${column} AS found`, "toUnixTimestamp64Micro(started_at) AS us"];
    const calls = visibleCalls(scope(), p, { select, where, traceIds: [traceId] });
    return { sql: `SELECT found, min(us) AS us FROM (${calls}) GROUP BY found`, params: p };
  };
  const rows = await engine.rows<{ found: string; us: string }>(statement, { signal });
  return new Map(rows.map(({ found, us }) => [found, BigInt(us)]));
}
