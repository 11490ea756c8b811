import type { CallField } from "@heddle/trace-model";
import { timeDirection } from "../query/call-query.js";
import type { CallPlan } from "../query/call-query.js";
import { expressionFields } from "../query/expression.js";
import { restricts } from "../query/filter.js";
import { keptRow, readHead, readKept } from "../stored-calls/kept-call.js";
import type { ColumnTexts, KeptCall, KeptHead } from "../stored-calls/kept-call.js";
import { pickColumns } from "../stored-calls/stored-call.js";
import type { CallRow } from "../stored-calls/stored-call.js";
import type { CallScope } from "../visibility/call-scope.js";
import { isRetained } from "../visibility/retention.js";
import type { Value } from "./column-condition.js";
import { afterPosition, kindOf, memoryTest, startValue } from "./memory-test.js";
import { readBack } from "./read-back.js";
import type { PageRow, RowSource } from "./row-source.js";
import { fetchBytes } from "./statements.js";
import type { CallSource, PlannedCalls } from "./statements.js";

/**
 * Memory is searched on the thread that serves all, about a millisecond and a half: where that finds too few, the table is. In
 * calls whose status alone is looked at.
 */
const mostWork = 10_000;
const [headWork, wholeWork, unpackingWork] = [10, 30, 1000];

/** What calls are compared by that takes the type of a number or time of their end: the engine does. */
const ofEnds = new Set(["ended_at", "wb_run_step_end", "deleted_at", "latency_ms"]);

/** A call by id out of memory. */
export function keptCall({ scope, select }: Pick<CallSource, "scope" | "select">, id: string): CallRow | undefined {
  const current = scope();
  const call = current.inFlight.kept({ project_id: current.project_id, id });
  if (call === undefined || isRetained(current)?.(call.started_at) !== true) return undefined;
  return pickColumns(keptRow(call, readKept(call)), select);
}

/**
 * The complete calls of a list that has the newest first: out of memory where that has as many as are wanted, else those of
 * the tables.
 */
export function newestFirst(list: PlannedCalls, tables: RowSource): RowSource {
  const { plan, byId, shown } = list;
  const isSearched = timeDirection(plan) === "desc" && byId === undefined && shown === undefined;
  // Whole traces are found sooner.
  if (!isSearched || plan.upTo !== undefined || plan.filter.trace_ids?.length) return tables;
  return async (most) => inMemory(list, most) ?? (await tables(most));
}

function isOfEnd(field: CallField): boolean {
  return (field.kind === "column" || field.kind === "weave") && ofEnds.has(field.name);
}

/** The first rows of the list; undefined when memory may lack some. Then it has them the next time, if it can. */
function inMemory(list: PlannedCalls, most: number): Awaited<ReturnType<RowSource>> | undefined {
  const { plan, scope: now, select } = list;
  const scope = now();
  const newest = scope.inFlight.newest(scope.project_id);
  const test = keptTest(plan, scope);
  const isKept = isRetained(scope);
  if (newest === undefined || test === undefined || isKept === undefined) return undefined;
  const isAfter = afterPosition(plan);
  const found: KeptCall[] = [];
  const isNewBlock = firstOfBlocks();
  let work = 0;
  for (let at = newest.calls.length - 1; at >= 0 && found.length < most && work < mostWork; at--) {
    const call = newest.calls[at];
    if (call === undefined || call.started_at <= newest.after || !isKept(call.started_at)) break;
    work++;
    if (call.isGone || !isAfter(call)) continue;
    const { matches, work: took } = test(call);
    if (matches) found.push(call);
    work += took;
    if ((matches || took > 0) && isNewBlock(call)) work += unpackingWork;
  }
  const complete = found.length < most;
  if (complete && (work >= mostWork || !newest.isAll)) {
    if (work < mostWork) void readBack(list);
    return undefined;
  }
  return { rows: keptRows(found, plan, select), complete };
}

/** Says of one call after another whether it is packed with none before it. */
export function firstOfBlocks(): (call: KeptCall) => boolean {
  const blocks = new Set<object>();
  return ({ packedIn }) => {
    if (packedIn === undefined || blocks.has(packedIn)) return false;
    blocks.add(packedIn);
    return true;
  };
}

/** Whether a call meets the conditions of a plan, and what it took to find out; undefined where only tables can tell. */
export function keptTest(
  plan: CallPlan,
  scope: CallScope,
): ((call: KeptCall) => { matches: boolean; work: number }) | undefined {
  if (plan.expression !== undefined && expressionFields(plan.expression).some(isOfEnd)) return undefined;
  const test = memoryTest(plan, scope);
  if (test === undefined) return undefined;
  const isFiltered = restricts(plan.filter, scope.project_id);
  return (call) => {
    const texts = new Texts(call);
    const isOfFilter = !isFiltered || test.passes(texts.head);
    const matches = isOfFilter && test.matches((field) => valueOf(field, scope.project_id, call, texts));
    return { matches, work: texts.work };
  };
}

/** Rows of calls in their order. Where they are large, they are read as others are: a few megabytes at a time. */
export function keptRows(calls: readonly KeptCall[], plan: CallPlan, select: readonly string[]): PageRow[] {
  let left = fetchBytes;
  return calls.map((call) => {
    const { id, version, started_at, row } = call;
    left -= row.length;
    const whole = left < 0 || select.length === 0 ? undefined : pickColumns(keptRow(call, readKept(call)), select);
    return { id, version, started_at, bytes: row.length, whole, position: plan.seek && [String(started_at), id] };
  });
}

/** Reads of a row what is asked for, and adds up what that takes. */
class Texts {
  work = 0;
  readonly #call: KeptCall;
  #head: KeptHead | undefined;
  #whole: ColumnTexts | undefined;

  constructor(call: KeptCall) {
    this.#call = call;
  }

  get head(): KeptHead {
    if (this.#head === undefined) this.work += headWork;
    return (this.#head ??= readHead(this.#call));
  }

  get whole(): ColumnTexts {
    if (this.#whole === undefined) this.work += wholeWork;
    return (this.#whole ??= readKept(this.#call));
  }
}

function valueOf(field: CallField, projectId: string, call: KeptCall, texts: Texts): Value {
  if (field.kind === "weave" && field.name === "status") return call.status;
  if (field.kind === "weave" && field.name === "kind") {
    const { stated_kind: stated = null, op_key: opKey = null, "`usage.model`": models } = texts.whole;
    return kindOf(stated, opKey, models !== "[]");
  }
  if (field.kind === "column" && field.name === "exception") return texts.whole["exception"] || null;
  return startValue(field, projectId, call, texts.head);
}
