import { mainThread } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { ApiSchemas } from "../api-schemas.js";
import { addUsage, rollUpUsage, runStepsWithPauses } from "@heddle/trace-model";
import type { UsageRow } from "@heddle/trace-model";
import type { Reserve } from "../context.js";
import { locateCalls } from "../call-reading/locate.js";
import { addCosts, costOf, noCosts } from "../costs/cost-of.js";
import type { TokenCosts } from "../costs/cost-of.js";
import type { PriceBook } from "../costs/price-book.js";
import type { Engine } from "../engine/engine.js";
import { checkPage } from "../query/page.js";
import { Parameters } from "../engine/parameters.js";
import { at, compileCalls, planCalls } from "../query/call-query.js";
import type { CallSelector } from "../query/call-query.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import type { CallScope } from "../visibility/call-scope.js";
import type { CallSelection } from "../visibility/visible-calls.js";
import { usageRows, usageSql } from "./stored-usage.js";
import type { StoredUsage } from "./stored-usage.js";

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

export interface UsageSource {
  engine: Engine;
  scope: () => CallScope;
  /** Prices of the project. */
  readBook: () => Promise<PriceBook>;
  signal?: AbortSignal | undefined;
  /** Called with the memory of the result. */
  reserve?: Reserve | undefined;
}

/** Calls to load at most, of one trace; by default for `callsUsage`. */
const defaultLimit = 10_000;

/**
 * Usage of calls with all their descendants, one key per id. Throws `too_large` when one trace has more calls than the
 * limit.
 */
export async function callsUsage(source: UsageSource, request: CallsUsageRequest): Promise<UsageByCall> {
  const { limit = defaultLimit } = request;
  checkPage({ limit }, 1);
  const located = await locateCalls(source.engine, source.scope, request.call_ids, source);
  const result = new UsageResult(source, await bookOf(source, request), new Set(request.call_ids));
  for (const id of request.call_ids) result.add(id, []);
  if (located.ids.length === 0) return result.usage;
  const traces = await traceIds(source, (p) => at(p, located));
  let trace: UsageCall[] = [];
  for await (const call of usageCalls(source, (p) => ({ where: [p.in("trace_id", "String", traces)] }))) {
    if (trace[0] !== undefined && trace[0].trace_id !== call.trace_id) {
      await result.addAll(trace);
      trace = [];
    }
    if (trace.push(call) > limit) throw tooLarge(limit);
  }
  await result.addAll(trace);
  return result.usage;
}

/**
 * Usage of the matching calls, each with those of its descendants that match, trace by trace. Throws `too_large` when more
 * calls match than the limit, if there is one, `invalid` for what is not a query or filter.
 */
export async function traceUsage(source: UsageSource, request: TraceUsageRequest): Promise<UsageByCall> {
  const { limit } = request;
  checkPage({ limit }, 1);
  const plan = planCalls(request);
  const ids = plan.filter.call_ids ?? [];
  const located = ids.length === 0 ? undefined : await locateCalls(source.engine, source.scope, ids, source);
  const result = new UsageResult(source, await bookOf(source, request));
  if (located?.ids.length === 0) return result.usage;
  let trace: UsageCall[] = [];
  let count = 0;
  for await (const call of usageCalls(source, (p) => compileCalls(plan, source.scope(), p, located))) {
    if (limit !== undefined && ++count > limit) throw tooLarge(limit);
    if (trace[0] !== undefined && trace[0].trace_id !== call.trace_id) {
      await result.addAll(trace);
      trace = [];
    }
    trace.push(call);
  }
  await result.addAll(trace);
  return result.usage;
}

/** Undefined when no costs are asked for. */
async function bookOf(source: UsageSource, { include_costs }: { include_costs?: boolean }) {
  return include_costs === true ? await source.readBook() : undefined;
}

type PricedUsage = UsageRow & TokenCosts;

function addPriced(a: PricedUsage, b: PricedUsage): PricedUsage {
  return { ...addUsage(a, b), ...addCosts(a, b) };
}

class UsageResult {
  readonly usage: UsageByCall = { call_usage: Object.create(null), unfinished_call_ids: [] };

  /** Of what is in the result and not yet reserved. */
  #bytes = 0;

  constructor(
    readonly source: Pick<UsageSource, "reserve">,
    readonly book: PriceBook | undefined,
    readonly wanted?: ReadonlySet<string>,
  ) {}

  /** Adds the calls of a trace. */
  async addAll(calls: readonly UsageCall[]): Promise<void> {
    for (const { id, running } of calls) if (running) this.usage.unfinished_call_ids.push(id);
    const steps = this.book === undefined ? rollUpUsage(calls, addUsage) : rollUpUsage(this.#priced(calls), addPriced);
    for (const [id, usage] of await runStepsWithPauses<ReadonlyMap<string, PricedRow[]>>(steps, giveWay)) {
      if (this.wanted?.has(id) === false) continue;
      this.add(id, usage);
      this.#bytes += callBytes + id.length + usage.length * modelBytes;
      if (this.#bytes >= reservedAtOnce) await this.#reserve();
    }
    await this.#reserve();
  }

  async #reserve(): Promise<void> {
    const bytes = this.#bytes;
    this.#bytes = 0;
    if (bytes === 0) return;
    await this.source.reserve?.(bytes);
    await mainThread.giveWay();
  }

  add(id: string, rows: readonly PricedRow[]): void {
    this.usage.call_usage[id] = Object.fromEntries(rows.map((row) => [row.model, aggregated(row)]));
  }

  /** Every call is priced at its own start, so that costs of a trace are the sum of those of its calls. */
  #priced(calls: readonly UsageCall[]) {
    return calls.map(({ usage, started_at, ...call }) => ({
      ...call,
      usage: usage.map((row): PricedUsage => {
        const price = this.book?.priceAt(row.model, started_at);
        return { ...row, ...(price === undefined ? noCosts : costOf(row, price)) };
      }),
    }));
  }
}

type PricedRow = UsageRow & Partial<TokenCosts>;

/** About the memory of a call and of each of its models, in the result and as text. */
const callBytes = 100;
const modelBytes = 600;
const reservedAtOnce = 262_144;

const giveWay = async (): Promise<void> => await mainThread.giveWay();

function aggregated(row: PricedRow): AggregatedUsage {
  return {
    requests: row.requests,
    prompt_tokens: row.prompt_tokens,
    completion_tokens: row.completion_tokens,
    total_tokens: row.total_tokens,
    cache_read_input_tokens: row.cache_read_tokens,
    cache_creation_input_tokens: row.cache_creation_tokens,
    prompt_tokens_total_cost: row.prompt_tokens_total_cost ?? null,
    completion_tokens_total_cost: row.completion_tokens_total_cost ?? null,
    cache_read_input_tokens_total_cost: row.cache_read_input_tokens_total_cost ?? null,
    cache_creation_input_tokens_total_cost: row.cache_creation_input_tokens_total_cost ?? null,
  };
}

interface UsageCall {
  id: string;
  trace_id: string;
  parent_id: string;
  /** Microseconds since 1970. */
  started_at: bigint;
  running: boolean;
  usage: UsageRow[];
}

/** Calls by trace, in the same order every time. */
async function* usageCalls(
  { engine, scope, signal }: UsageSource,
  conditions: (p: Parameters) => Omit<CallSelection, "select">,
): AsyncGenerator<UsageCall, void, undefined> {
  const names = ["id", "trace_id", "parent_id", "started_us", "running", "models", "counts"];
  const statement = () => {
    const p = new Parameters();
    const union = visibleCalls(scope(), p, {
      ...conditions(p),
      select: [
        "id",
        "trace_id",
        "parent_id",
        "toUnixTimestamp64Micro(started_at) AS started_us",
        "isNull(latency_us) AS running",
        ...usageSql,
      ],
    });
    return { sql: `SELECT ${names.join(", ")} FROM (${union}) ORDER BY trace_id, id LIMIT 1 BY id`, params: p };
  };
  type Row = StoredUsage &
    Pick<UsageCall, "id" | "trace_id" | "parent_id"> & {
      started_us: string;
      running: number;
    };
  for await (const row of engine.stream<Row>(statement, { signal })) {
    yield {
      id: row.id,
      trace_id: row.trace_id,
      parent_id: row.parent_id,
      started_at: BigInt(row.started_us),
      running: row.running === 1,
      usage: usageRows(row),
    };
  }
}

async function traceIds(source: UsageSource, where: (p: Parameters) => string[]): Promise<string[]> {
  const statement = () => {
    const p = new Parameters();
    const union = visibleCalls(source.scope(), p, { select: ["trace_id"], where: where(p) });
    return { sql: `SELECT DISTINCT trace_id FROM (${union})`, params: p };
  };
  const rows = await source.engine.rows<{ trace_id: string }>(statement, { signal: source.signal });
  return rows.map(({ trace_id }) => trace_id);
}

function tooLarge(limit: number): HeddleError {
  return new HeddleError("too_large", `more than ${limit} calls would have to be loaded`);
}
