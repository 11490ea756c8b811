import { estimateCalls } from "../call-pages/estimate-calls.js";
import type { CallReads, CallReadsContext } from "../calls/calls.js";
import type { ReadOptions } from "../context.js";
import { aggregateCalls } from "./aggregate.js";
import type { AggregateContext, AggregateRequest } from "./aggregate.js";
import { findFields, ReadTimes } from "./fields.js";
import type { CallAggregates } from "./figures.js";
import type { FieldsRequest, FoundFields } from "./fields.js";

export interface Aggregates {
  /** Figures about calls: in all, by group, over time, and how values are distributed. See `aggregateCalls`. */
  aggregate(request: AggregateRequest, options?: ReadOptions): Promise<CallAggregates & { seq: bigint }>;
  /** What the newest calls hold. See `findFields`. */
  fields(request: FieldsRequest, options?: ReadOptions): Promise<FoundFields & { of: CallTotal }>;
}

/** How many calls match. */
type CallTotal = Awaited<ReturnType<typeof estimateCalls>>;

export interface AggregatesContext extends AggregateContext, CallReadsContext {
  count: CallReads["count"];
  /** The greatest version below every change of calls that is under way. */
  settled: () => bigint;
}

export function openAggregates(context: AggregatesContext): Aggregates {
  const readTimes = new ReadTimes();
  return {
    async aggregate(request, options) {
      const seq = context.settled();
      return { ...(await aggregateCalls(context, request, options)), seq };
    },
    async fields(request, options = {}) {
      const { project_id, filter, query, search } = request;
      const [found, of] = await Promise.all([
        findFields({ ...context, readTimes }, request, options),
        estimateCalls(context, { project_id, filter, query, search }, options),
      ]);
      return { ...found, of };
    },
  };
}
