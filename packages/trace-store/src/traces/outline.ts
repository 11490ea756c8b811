import { mainThread } from "@heddle/concurrency";
import type { CallKind, CallStatus } from "@heddle/trace-model";
import type { ApiSchemas } from "../api-schemas.js";
import type { ReadOptions } from "../context.js";
import type { UsageSource } from "../usage/usage.js";
import { orderTrace } from "./order-trace.js";
import type { TraceOrder } from "./order-trace.js";
import { countTrace, readTrace, startsInTrace } from "./read-trace.js";
import type { ReadTraceOptions, TraceColumns, TraceSource } from "./read-trace.js";

export type TraceOutlineRequest = ApiSchemas["TraceOutlineReq"];

/** The calls of a trace, depth-first, as one list for each property; all lists are about the same calls. */
export interface TraceOutline {
  /** Calls of the trace, or of the subtree. */
  total: number;
  /** Whether all of them are here. */
  complete: boolean;
  names: string[];
  ids: string[];
  parent: number[];
  name: number[];
  kind: CallKind[];
  status: CallStatus[];
  start_us: number[];
  end_us: Array<number | null>;
  tokens: number[];
  cost?: Array<number | null>;
  size?: number[];
  input_digest?: string[];
  output_digest?: string[];
  children: number[];
  missing_parents: TraceOrder["missing"];
  cycles: number;
}

/** Calls that are read of one trace. */
export const mostCalls = 100_000;
/** After so many calls others may work. */
const slice = 4096;

/**
 * Reads at most `most` calls. Of a trace with more calls than are read the earliest ones count, and with `root_id` those since the root started:
 * `complete` is false then.
 */
export async function traceOutline(
  { engine, scope, readBook }: UsageSource,
  request: TraceOutlineRequest,
  most: number,
  options: ReadOptions = {},
): Promise<TraceOutline> {
  const { trace_id: traceId, root_id: rootId, max_depth: maxDepth, limit = mostCalls, include = [] } = request;
  const source: TraceSource = { engine, scope, traceId, ...options };
  const reading: ReadTraceOptions = {
    book: include.includes("costs") ? await readBook() : undefined,
    sizes: include.includes("sizes"),
    digests: include.includes("digests"),
    most,
  };
  let trace = await readTrace(source, reading);
  if (trace.isCut && rootId !== undefined) {
    const starts = [
      ...(await startsInTrace(source, "id", [rootId])).values(),
      ...(await startsInTrace(source, "parent_id", [rootId])).values(),
    ];
    if (starts[0] !== undefined) trace = await readTrace(source, { ...reading, from: starts[0] });
  }
  const unread = trace.isCut ? await unreadParents(source, trace) : undefined;
  const order = await orderTrace(trace, { rootId, maxDepth, limit, ...(unread && { unread }) });
  const total = trace.isCut && rootId === undefined ? await countTrace(source) : order.total;
  const complete = !trace.isCut && order.calls.length === order.total;
  return { total, complete, ...(await inOrder(trace, order, reading)) };
}

/** Parents that exist and were not read. */
async function unreadParents(source: TraceSource, { ids, parentIds }: TraceColumns): Promise<ReadonlySet<string>> {
  const read = new Set(ids);
  const absent = [...new Set(parentIds)].filter((id) => id !== "" && !read.has(id));
  return absent.length === 0 ? new Set() : new Set((await startsInTrace(source, "id", absent)).keys());
}

async function inOrder(
  trace: TraceColumns,
  { calls, parent, children, missing, cycles }: TraceOrder,
  { book, sizes, digests }: ReadTraceOptions,
): Promise<Omit<TraceOutline, "total" | "complete">> {
  async function picked<T>(list: readonly T[]): Promise<T[]> {
    const values: T[] = [];
    for (let from = 0; from < calls.length; from += slice) {
      for (const call of calls.slice(from, from + slice)) values.push(list[call] as T);
      await mainThread.giveWay();
    }
    return values;
  }
  return {
    names: trace.names,
    ids: await picked(trace.ids),
    parent,
    name: await picked(trace.name),
    kind: await picked(trace.kind),
    status: await picked(trace.status),
    start_us: await picked(trace.startUs),
    end_us: await picked(trace.endUs),
    tokens: await picked(trace.tokens),
    ...(book && { cost: await picked(trace.cost) }),
    ...(sizes && { size: await picked(trace.size) }),
    ...(digests && {
      input_digest: await picked(trace.inputDigest),
      output_digest: await picked(trace.outputDigest),
    }),
    children,
    missing_parents: missing,
    cycles,
  };
}
