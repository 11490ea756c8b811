import { HeddleError } from "@heddle/errors";
import type { ApiSchemas } from "../api-schemas.js";
import { rollUpUsage } from "@heddle/trace-model";
import type { UsageRow } from "@heddle/trace-model";
import { locateCalls } from "../calls/locate.js";
import type { Engine } from "../engine/engine.js";
import { checkPage } from "../query/page.js";
import { Parameters } from "../engine/parameters.js";
import { at, compileCalls, planCalls } from "../query/call-query.js";
import type { CallSelector } from "../query/call-query.js";
import { visibleCalls } from "../query/visible-calls.js";
import type { CallScope, CallSelection } from "../query/visible-calls.js";

export type CallsUsageRequest = ApiSchemas["CallsUsageReq"];

export interface TraceUsageRequest
  extends
    Pick<CallSelector, "project_id" | "filter" | "query">,
    Pick<ApiSchemas["TraceUsageReq"], "include_costs" | "limit"> {}

/** Tokens of a call and its descendants. Costs are null unless asked for, and 0 without a price. */
export type AggregatedUsage = Required<ApiSchemas["LLMAggregatedUsage"]>;

export interface UsageByCall {
  /** Call id → model → usage. */
  call_usage: Record<string, Record<string, AggregatedUsage>>;
  /** Loaded calls that still run. */
  unfinished_call_ids: string[];
}

interface Source {
  engine: Engine;
  scope: () => CallScope;
  signal?: AbortSignal;
}

/** Calls to load at most, of one trace. */
const defaultLimit = 10_000;

/**
 * Usage of calls with all their descendants, one key per id. Throws `too_large` when one trace has more calls than the
 * limit.
 */
export async function callsUsage(source: Source, request: CallsUsageRequest): Promise<UsageByCall> {
  const limit = limitOf(request);
  const located = await locateCalls(source.engine, source.scope, request.call_ids, source.signal);
  const result = new UsageResult(request.include_costs === true, new Set(request.call_ids));
  for (const id of request.call_ids) result.add(id, []);
  if (located.ids.length === 0) return result.answer;
  const traces = await traceIds(source, (p) => at(p, located));
  let trace: UsageCall[] = [];
  for await (const call of usageCalls(source, (p) => ({ where: [p.in("trace_id", "String", traces)] }))) {
    if (trace[0] !== undefined && trace[0].trace_id !== call.trace_id) {
      result.addAll(trace);
      trace = [];
    }
    if (trace.push(call) > limit) throw tooLarge(limit);
  }
  result.addAll(trace);
  return result.answer;
}

/**
 * Usage of the matching calls, each with those of its descendants that match. Throws `too_large` when more calls match
 * than the limit, `invalid` for what is no query or filter.
 */
export async function traceUsage(source: Source, request: TraceUsageRequest): Promise<UsageByCall> {
  const limit = limitOf(request);
  const plan = planCalls(request);
  const ids = plan.filter.call_ids ?? [];
  const located = ids.length === 0 ? undefined : await locateCalls(source.engine, source.scope, ids, source.signal);
  const result = new UsageResult(request.include_costs === true);
  if (located?.ids.length === 0) return result.answer;
  const calls: UsageCall[] = [];
  for await (const call of usageCalls(source, (p) => compileCalls(plan, source.scope(), p, located))) {
    if (calls.push(call) > limit) throw tooLarge(limit);
  }
  result.addAll(calls);
  return result.answer;
}

class UsageResult {
  readonly answer: UsageByCall = { call_usage: Object.create(null), unfinished_call_ids: [] };

  constructor(
    readonly priced: boolean,
    readonly wanted?: ReadonlySet<string>,
  ) {}

  addAll(calls: readonly UsageCall[]): void {
    for (const { id, running } of calls) if (running) this.answer.unfinished_call_ids.push(id);
    for (const [id, rows] of rollUpUsage(calls)) {
      if (this.wanted?.has(id) ?? true) this.add(id, rows);
    }
  }

  add(id: string, rows: readonly UsageRow[]): void {
    const used = rows.filter((row) => countNames.some((name) => row[name] > 0));
    this.answer.call_usage[id] = Object.fromEntries(used.map((row) => [row.model, this.#aggregated(row)]));
  }

  #aggregated(row: UsageRow): AggregatedUsage {
    const cost = this.priced ? 0 : null;
    return {
      requests: row.requests,
      prompt_tokens: row.prompt_tokens,
      completion_tokens: row.completion_tokens,
      total_tokens: row.total_tokens,
      cache_read_input_tokens: row.cache_read_tokens,
      cache_creation_input_tokens: row.cache_creation_tokens,
      prompt_tokens_total_cost: cost,
      completion_tokens_total_cost: cost,
      cache_read_input_tokens_total_cost: cost,
      cache_creation_input_tokens_total_cost: cost,
    };
  }
}

interface UsageCall {
  id: string;
  trace_id: string;
  parent_id: string;
  running: boolean;
  usage: UsageRow[];
}

const countNames = [
  "requests",
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "cache_read_tokens",
  "cache_creation_tokens",
] as const;

/** Calls by trace, in the same order every time. */
async function* usageCalls(
  { engine, scope, signal }: Source,
  conditions: (p: Parameters) => Omit<CallSelection, "select">,
): AsyncGenerator<UsageCall, void, undefined> {
  const names = ["id", "trace_id", "parent_id", "running", "models", ...countNames];
  const statement = () => {
    const p = new Parameters();
    const union = visibleCalls(scope(), p, {
      ...conditions(p),
      select: ["id", "trace_id", "parent_id", "isNull(latency_us) AS running", "`usage.model` AS models"].concat(
        countNames.map((name) => `\`usage.${name}\` AS ${name}`),
      ),
    });
    return { sql: `SELECT ${names.join(", ")} FROM (${union}) ORDER BY trace_id, id LIMIT 1 BY id`, params: p };
  };
  type Row = Record<(typeof countNames)[number], string[]> &
    Pick<UsageCall, "id" | "trace_id" | "parent_id"> & {
      running: number;
      models: string[];
    };
  for await (const { models, ...row } of engine.stream<Row>(statement, { signal })) {
    const usage = models.map((model, index): UsageRow => {
      const count = (name: (typeof countNames)[number]) => Number(row[name][index] ?? 0);
      return {
        model,
        requests: count("requests"),
        prompt_tokens: count("prompt_tokens"),
        completion_tokens: count("completion_tokens"),
        total_tokens: count("total_tokens"),
        cache_read_tokens: count("cache_read_tokens"),
        cache_creation_tokens: count("cache_creation_tokens"),
      };
    });
    yield { id: row.id, trace_id: row.trace_id, parent_id: row.parent_id, running: row.running === 1, usage };
  }
}

async function traceIds(source: Source, where: (p: Parameters) => string[]): Promise<string[]> {
  const statement = () => {
    const p = new Parameters();
    const union = visibleCalls(source.scope(), p, { select: ["trace_id"], where: where(p) });
    return { sql: `SELECT DISTINCT trace_id FROM (${union})`, params: p };
  };
  const rows = await source.engine.rows<{ trace_id: string }>(statement, { signal: source.signal });
  return rows.map(({ trace_id }) => trace_id);
}

function limitOf({ limit = defaultLimit }: Pick<CallsUsageRequest, "limit">): number {
  checkPage({ limit }, 1);
  return limit;
}

function tooLarge(limit: number): HeddleError {
  return new HeddleError("too_large", `more than ${limit} calls would have to be loaded`);
}
