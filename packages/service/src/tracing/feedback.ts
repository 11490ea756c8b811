import { HeddleError, withLoc } from "@heddle/errors";
import { rawJson } from "@heddle/server-stub";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { derivedId, formatRef, formatTime, newId } from "@heddle/trace-model";
import type { CreatedFeedback, NewFeedback } from "@heddle/trace-store";
import { ItemAccess } from "../access/item-access.js";
import { FeedbackAcceptance } from "../feedback/accept-feedback.js";
import { splitProject } from "../access/project-id.js";
import { MatchingActions } from "../matching/act-on-matching.js";
import { reserveForResponse } from "../limits/request-scope.js";
import { checkSharedFeedback } from "../shares/shared-trace.js";
import type { Caller, Services } from "../services.js";
import { internalProjects } from "../wire/internal-refs.js";
import { wireTime } from "../wire/time.js";

const ofNoAgent = {
  span_agent_name: "",
  span_agent_version: "",
  span_status_code: "",
  span_conversation_id: "",
  span_trace_id: "",
  scorer_trace_id: "",
};

/** Of the feedback that one request gives to all calls that match. */
const mostMatchingPayload = 64 * 1024 * 1024;

export function feedbackHandlers({ control, store }: Services): TracingHandlers<Caller>["feedback"] {
  const matching = new MatchingActions({ control, store });

  async function acceptance(body: unknown, caller: Caller, retryId: string | undefined) {
    const projectOf = await internalProjects(control, caller, body);
    return new FeedbackAcceptance({ control, store }, { userId: caller.user_id, retryId, projectOf });
  }

  return {
    async feedbackCreate({ body, headers }, caller) {
      const feedback = await (await acceptance(body, caller, headers["X-Weave-Retry-Id"])).accept(body, 0);
      return wireCreated(await store.feedback.create(feedback));
    },

    async feedbackCreateBatch({ body: { batch }, headers }, caller) {
      const access = new ItemAccess(control, caller);
      const accepted = await acceptance(batch, caller, headers["X-Weave-Retry-Id"]);
      const list: NewFeedback[] = [];
      for (const [index, item] of batch.entries()) {
        const feedback = await withLoc(["batch", index], async () => {
          const refusal = access.refusal(item.project_id);
          if (refusal !== undefined) throw refusal;
          return accepted.accept(item, index);
        });
        list.push(feedback);
      }
      const created = await withLoc(["batch"], () => store.feedback.createBatch(list));
      await access.record(list.map(({ project_id }) => project_id));
      return { res: created.map(wireCreated) };
    },

    async feedbackCreateMatching({ body, headers, signal }, caller) {
      const { project_id, creator, feedback_type, payload, annotation_ref, queue_id } = body;
      const { entity = "", project = "" } = splitProject(project_id) ?? {};
      const retryId = headers["X-Weave-Retry-Id"];
      const refTo = (id: string) => formatRef({ kind: "call", entity, project, id, edges: [] });
      const feedback = { ...ofNoAgent, project_id, creator, feedback_type, payload, annotation_ref, queue_id };
      // All that is stored is the same but for the call: it is checked once.
      const accepted = await acceptance(feedback, caller, retryId);
      const check = async () => await accepted.accept({ ...feedback, weave_ref: refTo(newId()) }, 0);
      return await matching.carryOut<undefined, object>(
        { project_id, operation: "feedbackCreateMatching", body, retryId, signal },
        {
          async basis() {
            await check();
            return undefined;
          },
          async act(ids) {
            const checked = await check();
            if (checked.payload.length * ids.length > mostMatchingPayload) {
              const message = `the payload of ${ids.length} calls has more than ${mostMatchingPayload} characters`;
              throw new HeddleError("too_large", message, { loc: ["payload"] });
            }
            const idOf = (callId: string) => retryId && derivedId(project_id, `${retryId} ${callId}`, 0, "feedback");
            await store.feedback.createBatch(ids.map((id) => ({ ...checked, id: idOf(id), weave_ref: refTo(id) })));
            return { done: ids.length, skipped: {} };
          },
        },
      );
    },

    async feedbackQuery({ body, signal }, caller) {
      await checkSharedFeedback(store, caller, body, signal);
      const { result, total_count } = await store.feedback.query(body, {
        signal,
        reserve: reserveForResponse(["limit"]),
      });
      return { result: result.map(rawJson), total_count };
    },

    async feedbackPurge({ body }) {
      await store.feedback.purge(body);
      return {};
    },

    async feedbackReplace({ body: { feedback_id, ...body }, headers }, caller) {
      const feedback = await (await acceptance(body, caller, headers["X-Weave-Retry-Id"])).accept(body, 0);
      return wireCreated(await store.feedback.replace({ ...feedback, feedback_id }));
    },

    async feedbackStats({ body, signal }) {
      const stats = await store.feedback.stats({ ...body, ...rangeOf(body) }, { signal });
      return { ...stats, start: formatTime(stats.start), end: formatTime(stats.end) };
    },

    async feedbackPayloadSchema({ body, signal }) {
      return { paths: await store.feedback.payloadSchema({ ...body, ...rangeOf(body) }, { signal }) };
    },

    async feedbackAggregate({ body, signal }) {
      const { after_ms, before_ms } = body;
      const range = { start: BigInt(after_ms) * 1000n, end: BigInt(before_ms) * 1000n };
      const { granularity, buckets } = await store.feedback.aggregate({ ...body, ...range }, { signal });
      return { time_bucket_seconds: granularity, after_ms, before_ms, buckets };
    },
  };
}

function rangeOf({ start, end }: Pick<Schemas["FeedbackStatsReq"], "start" | "end">) {
  return { start: wireTime(start, "start"), end: end === undefined ? undefined : wireTime(end, "end") };
}

function wireCreated(created: CreatedFeedback): Schemas["FeedbackCreateRes"] {
  return { ...created, created_at: formatTime(created.created_at), payload: rawJson(created.payload) };
}
