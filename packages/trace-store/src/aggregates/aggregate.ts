import { HeddleError, withLoc } from "@heddle/errors";
import { startOfNewest } from "../call-reading/newest-calls.js";
import { locateSelected } from "../call-reading/selection.js";
import type { SelectionContext } from "../call-reading/selection.js";
import type { ReadOptions } from "../context.js";
import type { Costs } from "../costs/costs.js";
import { fieldsPrice, planCalls } from "../query/call-query.js";
import type { CallSelector } from "../query/call-query.js";
import type { Buckets } from "../stats/buckets.js";
import { checkTime } from "../stats/stats.js";
import type { TimeRange } from "./call-rows.js";
import { AggregateReader, maxNumbers } from "./aggregate-reader.js";
import { Deadline, isTooMuch } from "./deadline.js";
import { parseDistributions } from "./distributions.js";
import type { DistributionRequest } from "./distributions.js";
import type { CallAggregates } from "./figures.js";
import { parseGroupKeys } from "./group-keys.js";
import { parseMetrics } from "./metrics.js";
import { bucketsOf } from "./time-buckets.js";

export interface AggregateRequest extends Pick<CallSelector, "project_id" | "filter" | "query" | "search"> {
  /** Only calls that started in the range, and figures for each of at most so many buckets of it. */
  time?: (TimeRange & { buckets: number; timezone?: string | undefined }) | undefined;
  group_by?: readonly string[] | undefined;
  metrics: readonly string[];
  /** Groups at most, those with most calls. */
  top: number;
  distributions?: readonly DistributionRequest[] | undefined;
}

export interface AggregateContext extends SelectionContext {
  costs: Pick<Costs, "book">;
}

/** Seconds for an exact answer, and for each attempt with fewer calls. */
const exactSeconds = 3;
const sampleSeconds = 1;
/** How many of the newest calls of the project count where all would take too long. */
const samples = [100_000, 10_000, 1000, 100];

/**
 * Figures about the calls that match. Throws as queries do, `unprocessable` for metrics, keys and distributions that are none,
 * and `too_large` for more numbers than a response has.
 */
export async function aggregateCalls(
  context: AggregateContext,
  request: AggregateRequest,
  options: ReadOptions = {},
): Promise<CallAggregates> {
  const groups = parseGroupKeys(request.group_by ?? []);
  const { metrics, fields } = parseMetrics(request.metrics);
  const distributions = parseDistributions(request.distributions ?? []);
  const fieldsOfKeys = groups.keys.flatMap((key) => (typeof key === "object" && "field" in key ? [key.field] : []));
  const plan = planCalls(request, {
    group_by: fieldsPrice(fieldsOfKeys),
    metrics: fieldsPrice(fields),
    distributions: fieldsPrice(distributions.flatMap(({ path }) => path ?? [])),
  });
  const { time } = request;
  const buckets = time && withLoc(["time"], () => rangeBuckets(time));
  const numbers = (groups.keys.length === 0 ? 1 : request.top + 2) * (buckets?.starts.length ?? 1) * metrics.length;
  if (numbers > maxNumbers) {
    const message = `${numbers} numbers: ask for fewer groups, buckets or metrics, at most ${maxNumbers} together`;
    throw new HeddleError("too_large", message, { loc: ["top"] });
  }
  await options.reserve?.(numbers * 24);
  const book = metrics.some(({ sql }) => sql === undefined)
    ? await context.costs.book(request.project_id, options.signal)
    : undefined;
  const byId = await locateSelected(context, plan, options);
  const calls = { plan, byId, groups, fields, range: time, since: undefined };
  const aggregation = { top: request.top, metrics, distributions, buckets, book };
  for (const [attempt, sample] of [undefined, ...samples].entries()) {
    const isLast = attempt === samples.length;
    const seconds = sample === undefined ? exactSeconds : sampleSeconds;
    const reader = new AggregateReader(context, aggregation, {
      ...options,
      deadline: isLast ? undefined : new Deadline(seconds),
    });
    try {
      const since =
        sample === undefined ? undefined : await startOfNewest(context, request.project_id, sample, options);
      const read = await reader.read({ ...calls, since });
      return { ...read, exact: since === undefined, ...(since !== undefined && { since }) };
    } catch (error) {
      if (isLast || !isTooMuch(error)) throw error;
    }
  }
  throw new HeddleError("failed", "no attempt was made");
}

function rangeBuckets({ start, end, buckets, timezone }: NonNullable<AggregateRequest["time"]>): Buckets {
  checkTime(start, "start");
  checkTime(end, "end");
  return bucketsOf(start, end, buckets, timezone);
}
