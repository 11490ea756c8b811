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

test("what was sent and not delivered before kill -9 is sent again with the same id, and the rest once", async () => {
  const client = createTracingClient({ baseUrl: heddle.url, apiKey: ownerKey });
  const project = { project_id: "faults/webhooks" };
  const { webhook } = await client.webhookCreate({
    ...project,
    url: `${receiver.url}/hook`,
    events: ["feedback.created"],
  });
  for (const name of ["a", "b", "c"]) {
    const about = { weave_ref: `weave:///${project.project_id}/call/${name}`, feedback_type: "quality" };
    await client.feedbackCreate({ ...project, ...about, payload: { value: 1 } });
  }
  await expect.poll(() => receiver.received.length, { timeout: 10_000 }).toBe(1);
  await heddle.end("SIGKILL");
  isSilent = false;
  await heddle.start();
  await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBe(4);
  const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
  expect(ids[1]).toBe(ids[0]);
  expect(new Set(ids).size).toBe(3);
  const log = async () => {
    const { deliveries } = await client.webhookDeliveryList({ ...project, webhook_id: webhook.id });
    return deliveries.map(({ id, state, attempts }) => [id, state, attempts]);
  };
  await expect.poll(log, { timeout: 10_000 }).toEqual(
    ids
      .slice(1)
      .toReversed()
      .map((id) => [id, "delivered", 1]),
  );
}, 60_000);
