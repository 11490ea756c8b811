import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/tracing";
import type { TraceStore } from "@heddle/trace-store";
import { withQueueMembership } from "../wire/queue-membership.js";

export type Threshold = Schemas["WebhookThreshold"];

const minuteUs = 60_000_000n;

/** What the figure of a threshold is now, and whether that passes it. Throws as `callsAggregate` does. */
export async function checkThreshold(
  { control, store }: { control: ControlPlane; store: Pick<TraceStore, "aggregates"> },
  projectId: string,
  { filter, query, search, metric, divided_by, window_minutes, comparison, value }: Threshold,
  signal?: AbortSignal,
): Promise<{ passed: boolean; current: number | null }> {
  const now = BigInt(Date.now()) * 1000n;
  const matching = await withQueueMembership(control, { project_id: projectId, filter, query, search });
  const request = {
    ...matching,
    // The end is not part of the range.
    time: { start: now - BigInt(window_minutes) * minuteUs, end: now + 1n, buckets: 1 },
    metrics: [metric, ...(divided_by === undefined ? [] : [divided_by])],
    top: 1,
  };
  const { total } = await store.aggregates.aggregate(request, { signal }).catch((error: unknown) => {
    throw ofMetric(error);
  });
  const figure = (name: string) => total.values[name] ?? null;
  const [dividend, divisor] = [figure(metric), divided_by === undefined ? 1 : figure(divided_by)];
  const current = dividend === null || !divisor ? null : dividend / divisor;
  const passed = current !== null && (comparison === "above" ? current > value : current < value);
  return { passed, current };
}

/** Metrics are a list there, and have names here. */
function ofMetric(error: unknown): unknown {
  if (!(error instanceof HeddleError) || error.loc?.[0] !== "metrics") return error;
  return error.with({ loc: [error.loc[1] === 1 ? "divided_by" : "metric"] });
}
