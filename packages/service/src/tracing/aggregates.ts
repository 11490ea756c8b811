import { withLoc } from "@heddle/errors";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import { reserveForResponse } from "../limits/request-scope.js";
import type { Caller, Services } from "../services.js";
import { withQueueMembership } from "../wire/queue-membership.js";
import { wireTime } from "../wire/time.js";

export function aggregateHandlers({ control, store }: Services): TracingHandlers<Caller>["aggregates"] {
  return {
    async callsAggregate({ body, signal }) {
      const matching = await withQueueMembership(control, body);
      const request = { ...matching, time: body.time && withLoc(["time"], () => rangeOf(body.time)) };
      const found = await store.aggregates.aggregate(request, { signal, reserve: reserveForResponse(["top"]) });
      const { time, since, seq, ...figures } = found;
      return {
        ...figures,
        ...(time && { time: { ...time, starts: time.starts.map(formatTime) } }),
        ...(since !== undefined && { since: formatTime(since) }),
        seq: String(seq),
      };
    },

    async callsFields({ body, signal }) {
      return await store.aggregates.fields(await withQueueMembership(control, body), { signal });
    },
  };
}

function rangeOf(time: Schemas["AggregateTime"] | undefined) {
  if (time === undefined) return undefined;
  const { start, end, buckets, timezone } = time;
  return { start: wireTime(start, "start"), end: wireTime(end, "end"), buckets, timezone };
}
