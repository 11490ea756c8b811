import { afterAll, beforeAll, expect, test } from "vitest";
import { createTracingClient } from "@heddle/client/tracing";
import { startUpstream } from "../upstream.js";
import { openHeddle, ownerKey } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";

let heddle: HeddleProcess;
let receiver: Awaited<ReturnType<typeof startUpstream>>;
/** While it is, the receiver takes requests and does not respond. */
let isSilent = true;
beforeAll(async () => {
  receiver = await startUpstream({
    "POST /hook": (response) => {
      if (!isSilent) response.writeHead(204).end();
    },
  });
  heddle = await openHeddle({ env: { HEDDLE_WEBHOOKS_PRIVATE: "on" } });
}, 60_000);
afterAll(async () => {
  await heddle.remove();
  await receiver.close();
});

/** The calls of the feedback that an event tells of. */
const toldBy = (body: string): string[] =>
  (JSON.parse(body) as { data: { feedback: Array<{ weave_ref: string }> } }).data.feedback.map(
    ({ weave_ref }) => weave_ref.split("/").at(-1) ?? "",
  );

test("what was sent and not delivered before kill -9 is sent again with the same id, and what was stored just before is told once", async () => {
  const client = createTracingClient({ baseUrl: heddle.url, apiKey: ownerKey });
  const project = { project_id: "faults/webhooks" };
  const { webhook } = await client.webhookCreate({
    ...project,
    url: `${receiver.url}/hook`,
    events: ["feedback.created"],
  });
  const rate = async (name: string) => {
    const about = { weave_ref: `weave:///${project.project_id}/call/${name}`, feedback_type: "quality" };
    await client.feedbackCreate({ ...project, ...about, payload: { value: 1 } });
  };
  await rate("a");
  await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBe(1);
  await rate("b");
  await rate("c");
  await heddle.end("SIGKILL");
  isSilent = false;
  await heddle.start();
  const delivered = () => {
    const byId = new Map(receiver.received.slice(1).map(({ headers, body }) => [headers["webhook-id"], toldBy(body)]));
    return [...byId.values()].flat();
  };
  await expect.poll(delivered, { timeout: 30_000 }).toHaveLength(3);
  expect(delivered().toSorted()).toEqual(["a", "b", "c"]);
  const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
  expect(ids[1]).toBe(ids[0]);
  expect(new Set(ids.slice(1)).size).toBe(ids.length - 1);
  const log = async () => {
    const { deliveries } = await client.webhookDeliveryList({ ...project, webhook_id: webhook.id });
    return deliveries.map(({ id, state, attempts }) => [id, state, attempts]);
  };
  await expect.poll(log, { timeout: 20_000 }).toEqual(
    ids
      .slice(1)
      .toReversed()
      .map((id) => [id, "delivered", 1]),
  );
}, 120_000);
