import { withLoc } from "@heddle/errors";
import { rawJson } from "@heddle/server-stub";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import type { CreatedFeedback, NewFeedback } from "@heddle/trace-store";
import { ItemAccess } from "../access/item-access.js";
import { FeedbackAcceptance } from "../feedback/accept-feedback.js";
import { reserveForResponse } from "../limits/request-scope.js";
import type { Caller, Services } from "../services.js";
import { internalProjects } from "../wire/internal-refs.js";
import { wireTime } from "../wire/time.js";

export function feedbackHandlers({ control, store }: Services): TracingHandlers<Caller>["feedback"] {
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

    async feedbackQuery({ body, signal }) {
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
