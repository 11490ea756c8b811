import { HeddleError } from "@heddle/errors";
import { ItemError } from "@heddle/server-stub";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import type { ReadOptions } from "@heddle/trace-store";
import { listInPieces, membersInPieces } from "../http/in-pieces.js";
import { collect } from "../http/collect.js";
import { MatchingActions } from "../matching/act-on-matching.js";
import type { Caller, Services } from "../services.js";
import { reserveForResponse, reserveForStream } from "../limits/request-scope.js";
import { sharedPart } from "../shares/shared-trace.js";
import { endOf, startOf } from "../wire/call-parts.js";
import { withQueueMembership } from "../wire/queue-membership.js";
import { UserNames } from "../wire/user-names.js";
import { wireCall } from "../wire/call.js";
import { wireTime } from "../wire/time.js";
import { writeBatch, writeEnd, writeStart } from "../ingest/write-calls.js";
import type { ItemOutcome } from "../ingest/write-calls.js";

type CallsQueryReq = Schemas["CallsQueryReq"];

export function callHandlers(services: Services): TracingHandlers<Caller>["calls"] {
  const { control, store } = services;
  const matching = new MatchingActions(services);

  /** Calls of a query in wire form, one at a time as the engine gives them. */
  async function* queryCalls(body: CallsQueryReq, options: ReadOptions) {
    const names = new UserNames(control);
    for await (const call of store.calls.query(await withQueueMembership(control, body), options)) {
      yield wireCall(call, body.include_usernames ? await names.of(call.wb_user_id) : undefined);
    }
  }

  return {
    async callStart({ body, headers }, caller) {
      return writeStart(services, body.start, { caller, retryId: headers["X-Weave-Retry-Id"] });
    },

    async callEnd({ body }, caller) {
      await writeEnd(services, body.end, caller);
      return {};
    },

    async callStartBatch({ body, headers }, caller) {
      const outcomes = await writeBatch(
        services,
        body.batch,
        {
          locOf: ({ req }) => ["req", "start" in req ? "start" : "end"],
          partOf: ({ req }, context) =>
            "start" in req
              ? { part: "start", start: startOf(req.start, context) }
              : { part: "end", end: endOf(req.end, context) },
        },
        { caller, retryId: headers["X-Weave-Retry-Id"] },
      );
      return { res: listInPieces(outcomes, batchEntry) };
    },

    async callRead({ body, signal }, caller) {
      const call = sharedPart(caller, await store.calls.read(body, { signal }));
      return { call: call === undefined ? null : wireCall(call) };
    },

    async callUpdate({ body }) {
      if (body.display_name === undefined) {
        throw new HeddleError("invalid", "nothing to update; only the display name of a call can change", {
          loc: ["display_name"],
        });
      }
      await store.calls.rename(body.project_id, body.call_id, body.display_name);
      return {};
    },

    async callsDelete({ body }, caller) {
      return store.calls.delete(body.project_id, body.call_ids, caller.user_id);
    },

    async callsDeleteMatching({ body, headers, signal }, caller) {
      const { project_id } = body;
      return await matching.carryOut(
        { project_id, operation: "callsDeleteMatching", body, retryId: headers["X-Weave-Retry-Id"], signal },
        {
          basis: async () => {},
          async act(ids) {
            const none = ids.length === 0;
            const { num_deleted } = none
              ? { num_deleted: 0 }
              : await store.calls.delete(project_id, ids, caller.user_id);
            return { done: ids.length, skipped: {}, num_deleted };
          },
        },
      );
    },

    callsQueryStream: ({ body, signal }) => queryCalls(body, { signal, reserve: reserveForStream() }),

    async callsQuery({ body, signal }) {
      return { calls: await collect(queryCalls(body, { signal })) };
    },

    async callsQueryStats({ body, signal }) {
      return store.calls.count(await withQueueMembership(control, body), { signal });
    },

    async callStats({ body, signal }) {
      const start = wireTime(body.start, "start");
      const end = body.end === undefined ? undefined : wireTime(body.end, "end");
      const stats = await store.calls.callStats({ ...body, start, end }, { signal });
      return { ...stats, start: formatTime(stats.start), end: formatTime(stats.end) };
    },

    async callsUsage({ body, signal }) {
      return store.calls.callsUsage(body, { signal });
    },

    async traceUsage({ body, signal }) {
      const matching = await withQueueMembership(control, body);
      const usage = await store.calls.traceUsage(matching, { signal, reserve: reserveForResponse(["limit"]) });
      return { ...usage, call_usage: membersInPieces(usage.call_usage) };
    },
  };
}

function batchEntry(outcome: ItemOutcome): Schemas["CallCreateBatchRes"]["res"][number] {
  if (outcome instanceof ItemError) return { error: { loc: outcome.loc, msg: outcome.msg, type: outcome.type } };
  return outcome.part === "end" ? {} : { id: outcome.start.id, trace_id: outcome.start.trace_id };
}
