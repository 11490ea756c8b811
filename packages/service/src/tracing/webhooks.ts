import type { Webhook, WebhookDelivery } from "@heddle/control-plane";
import { HeddleError, withLoc } from "@heddle/errors";
import { rawJson, writeJson } from "@heddle/server-stub";
import type { ResponseSchemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import { reserveForResponse } from "../limits/request-scope.js";
import type { Caller, Services } from "../services.js";
import { checkWebhookUrl } from "../webhooks/check-url.js";
import { checkThreshold } from "../webhooks/threshold.js";
import type { Threshold } from "../webhooks/threshold.js";

export function webhookHandlers({ config, control, store }: Services): TracingHandlers<Caller>["webhooks"] {
  const { webhooks } = control;

  return {
    async webhookList({ query }) {
      return { webhooks: (await webhooks.list(query.project_id)).map(wireWebhook) };
    },

    async webhookCreate({ body: { threshold, ...body }, signal }, caller) {
      checkWebhookUrl(body.url, config.webhooksPrivate);
      checkThresholdEvent(body.events, threshold);
      const condition = threshold && { threshold: keptText(threshold) };
      // What cannot be computed is refused now, not a minute later in a log.
      if (threshold !== undefined)
        await withLoc(
          ["threshold"],
          async () => await checkThreshold({ control, store }, body.project_id, threshold, signal),
        );
      const position = await store.projectEvents.settled(body.project_id);
      const { webhook, secret } = await webhooks.create({
        ...body,
        ...condition,
        position,
        created_by: caller.user_id,
      });
      return { webhook: wireWebhook(webhook), secret };
    },

    async webhookDelete({ params, query }) {
      if (await webhooks.delete(query.project_id, params.webhook_id)) return { deleted: true };
      throw unknown(params.webhook_id);
    },

    async webhookDeliveryList({ params, query }) {
      const webhook = await webhooks.get(query.project_id, params.webhook_id);
      if (webhook === undefined) throw unknown(params.webhook_id);
      const { after, limit } = query;
      const reserve = reserveForResponse(["limit"]);
      const page = await webhooks.deliveries(webhook.id, { limit, reserve, ...(after !== undefined && { after }) });
      return { deliveries: page.deliveries.map(wireDelivery), has_more: page.has_more };
    },
  };
}

const unknown = (id: string) => new HeddleError("not_found", `no webhook ${id}`, { loc: ["webhook_id"] });

/** Of the text that is kept, and read once a minute. */
const mostCharacters = 65_536;

/** Throws `too_large` for a threshold that is too long to be kept. */
function keptText(threshold: Threshold): string {
  const text = writeJson(threshold);
  if (text.length <= mostCharacters) return text;
  throw new HeddleError("too_large", `a threshold has at most ${mostCharacters} characters`, { loc: ["threshold"] });
}

function checkThresholdEvent(events: readonly string[], threshold: Threshold | undefined): void {
  if (events.includes("threshold.passed") === (threshold !== undefined)) return;
  const [missing, given] = threshold === undefined ? ["threshold", "events"] : ["events", "threshold"];
  const message = `the event threshold.passed and a threshold belong together, and ${missing} has none`;
  throw new HeddleError("unprocessable", message, { loc: [given] });
}

function wireWebhook({ description, threshold, created_at, ...webhook }: Webhook): ResponseSchemas["Webhook"] {
  return {
    ...webhook,
    ...(description !== null && { description }),
    ...(threshold !== null && wireThreshold(threshold)),
    created_at: formatTime(created_at),
  };
}

function wireThreshold({ condition, passed, current, checked_at, error }: NonNullable<Webhook["threshold"]>) {
  return {
    threshold: JSON.parse(condition) as Threshold,
    threshold_state: {
      passed,
      current,
      ...(checked_at !== null && { checked_at: formatTime(checked_at) }),
      ...(error !== null && { error }),
    },
  };
}

function wireDelivery(delivery: WebhookDelivery): ResponseSchemas["WebhookDelivery"] {
  const { id, event, state, attempts, created_at, next_at, ended_at, response_status, error, payload } = delivery;
  return {
    id,
    event,
    state,
    attempts,
    created_at: formatTime(created_at),
    ...(next_at !== null && { next_attempt_at: formatTime(next_at) }),
    ...(ended_at !== null && { ended_at: formatTime(ended_at) }),
    ...(response_status !== null && { response_status }),
    ...(error !== null && { error }),
    payload: rawJson(payload),
  };
}
