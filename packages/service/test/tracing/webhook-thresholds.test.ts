import { setTimeout as delay } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { ThresholdChecks } from "../../src/webhooks/threshold-checks.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { startUpstream } from "../upstream.js";

type Receiver = Awaited<ReturnType<typeof startUpstream>>;

let service: TestService;
let receiver: Receiver;
let checks: ThresholdChecks;
beforeAll(async () => {
  service = await openTestService({ HEDDLE_WEBHOOKS_PRIVATE: "on" }, { sendsWebhooks: true });
  receiver = await startUpstream({});
  for (const path of ["/a", "/b"]) {
    receiver.routes[`POST ${path}`] = (response) => {
      response.writeHead(204);
      response.end();
    };
  }
});
beforeEach(() => {
  receiver.received.length = 0;
  checks = startChecks();
});
afterEach(() => checks.stop());
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
  await receiver.close();
});

function startChecks(store: ConstructorParameters<typeof ThresholdChecks>[0]["store"] = service.services.store) {
  const thresholdChecks = new ThresholdChecks({ control: service.services.control, store, everyMs: 50 }, (error) =>
    service.unexpected.push(error),
  );
  thresholdChecks.start();
  return thresholdChecks;
}

const share = { metric: "errors", divided_by: "count", comparison: "above", value: 0.5 } as const;
const eventsAt = (path: string) =>
  receiver.received
    .filter((each) => each.path === path)
    .map(({ body }) => (JSON.parse(body) as { type: string; data: Record<string, unknown> }).data);

async function create(projectId: string, threshold: object | null = share, more: object = {}) {
  const condition = threshold !== null && { threshold };
  const request = {
    project_id: projectId,
    url: `${receiver.url}/a`,
    events: ["threshold.passed"],
    ...condition,
    ...more,
  };
  const { webhook } = await service
    .tracing()
    .webhookCreate(request as Parameters<ReturnType<TestService["tracing"]>["webhookCreate"]>[0]);
  return webhook;
}

async function record(projectId: string, count: number, exception?: string) {
  const [entity = "", project = ""] = projectId.split("/");
  const now = Date.now();
  await service.tracing().callsComplete({
    entity,
    project,
    batch: Array.from({ length: count }, (_, index) => ({
      project_id: projectId,
      id: crypto.randomUUID(),
      trace_id: crypto.randomUUID(),
      op_name: "answer",
      started_at: new Date(now - 1000 - index).toISOString(),
      ended_at: new Date(now - index).toISOString(),
      attributes: {},
      inputs: {},
      output: null,
      summary: {},
      ...(exception !== undefined && { exception }),
    })),
  });
}

async function stateOf(projectId: string) {
  const { webhooks } = await service.tracing().webhookList({ project_id: projectId });
  return webhooks[0]?.threshold_state;
}

/** Until the thresholds were looked at anew. */
async function nextLook(projectId: string) {
  const before = (await stateOf(projectId))?.checked_at;
  await expect.poll(async () => (await stateOf(projectId))?.checked_at, { timeout: 20_000 }).not.toBe(before);
}

test("a threshold that is passed is an event, one that lasts is not another, and its end is one more", async () => {
  const [projectId, other] = [newProject(), newProject()];
  await record(projectId, 3);
  await record(other, 5, "boom");
  const webhook = await create(projectId, { ...share, filter: { op_names: ["answer"] } });
  await create(projectId, { metric: "count", comparison: "below", value: 0 }, { url: `${receiver.url}/b` });
  expect(webhook).toMatchObject({ threshold: { ...share, window_minutes: 15 }, threshold_state: { passed: false } });
  await nextLook(projectId);
  expect(await stateOf(projectId)).toMatchObject({ passed: false, current: 0 });
  await record(projectId, 9, "boom");
  await expect.poll(() => eventsAt("/a").length, { timeout: 20_000 }).toBe(1);
  expect(eventsAt("/a")[0]).toMatchObject({
    project_id: projectId,
    webhook_id: webhook.id,
    state: "passed",
    current: 0.75,
    threshold: webhook.threshold,
  });
  await nextLook(projectId);
  await nextLook(projectId);
  expect(eventsAt("/a")).toHaveLength(1);
  expect(await stateOf(projectId)).toMatchObject({ passed: true, current: 0.75 });
  await record(projectId, 12);
  await expect.poll(() => eventsAt("/a").map(({ state }) => state), { timeout: 20_000 }).toEqual(["passed", "over"]);
  expect(eventsAt("/b")).toEqual([]);
  expect(await stateOf(other)).toBeUndefined();
});

test("what was known of a threshold is known after a restart of the checks", async () => {
  const projectId = newProject();
  await record(projectId, 2, "boom");
  await create(projectId);
  await expect.poll(() => eventsAt("/a").length, { timeout: 20_000 }).toBe(1);
  await checks.stop();
  checks = startChecks();
  await nextLook(projectId);
  expect(eventsAt("/a")).toHaveLength(1);
  expect(await stateOf(projectId)).toMatchObject({ passed: true, current: 1 });
});

test("without calls there is no value, and nothing is passed", async () => {
  const projectId = newProject();
  await create(projectId, { metric: "latency_p95", comparison: "below", value: 10 });
  await nextLook(projectId);
  expect(await stateOf(projectId)).toMatchObject({ passed: false, current: null });
});

test("a threshold that cannot be computed now says why, and the others go on", async () => {
  const projectId = newProject();
  await create(projectId);
  await checks.stop();
  const { store } = service.services;
  checks = startChecks({
    aggregates: {
      ...store.aggregates,
      async aggregate(request, options) {
        if (request.project_id === projectId) throw new HeddleError("busy", "the engine is busy");
        return await store.aggregates.aggregate(request, options);
      },
    },
  });
  const fine = newProject();
  await create(fine);
  await nextLook(fine);
  await expect.poll(() => stateOf(projectId)).toMatchObject({ passed: false, error: "the engine is busy" });
  expect((await stateOf(fine))?.error).toBeUndefined();
});

test.each([
  ["the event without a threshold", null, {}, ["body", "events"]],
  ["a threshold without the event", share, { events: ["feedback.created"] }, ["body", "threshold"]],
  ["an unknown metric", { ...share, metric: "errers" }, {}, ["body", "threshold", "metric"]],
  ["an unknown divisor", { ...share, divided_by: "calls" }, {}, ["body", "threshold", "divided_by"]],
  ["a key that is none", { ...share, limit: 3 }, {}, ["body", "threshold", "limit"]],
  ["a window of no minutes", { ...share, window_minutes: 0 }, {}, ["body", "threshold", "window_minutes"]],
  ["a query that is none", { ...share, query: { $expr: { $near: [] } } }, {}, ["body", "threshold", "query"]],
])("%s is refused", async (_, threshold, more, loc) => {
  const refused = await create(newProject(), threshold, more).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 422 });
  const { detail } = (refused as { body: { detail: { loc: unknown[] }[] } }).body;
  expect(detail[0]?.loc.slice(0, loc.length)).toEqual(loc);
});

test("a project has so many thresholds, and one that is deleted is not looked at any more", async () => {
  const projectId = newProject();
  const created = [];
  for (let index = 0; index < 20; index++) created.push(await create(projectId));
  await expect(create(projectId)).rejects.toMatchObject({ status: 409 });
  await service.tracing().webhookDelete({ project_id: projectId, webhook_id: created[0]!.id });
  await record(projectId, 2, "boom");
  await expect.poll(() => eventsAt("/a").length, { timeout: 20_000 }).toBe(19);
  expect(eventsAt("/a").map(({ webhook_id }) => webhook_id)).not.toContain(created[0]!.id);
});

test("one entity with more thresholds than fit into a round keeps nobody else's waiting", async () => {
  await checks.stop();
  const run = newProject().split("/")[1] ?? "";
  const [few, ...many] = ["few", "many", "many", "many"].map((entity, at) => `${entity}-${run}/p${at}`);
  await create(few ?? "");
  for (const projectId of many) for (let n = 0; n < 8; n++) await create(projectId);
  const looks: string[] = [];
  const { store } = service.services;
  checks = startChecks({
    aggregates: {
      ...store.aggregates,
      async aggregate(request, options) {
        if (request.project_id.includes(run)) {
          looks.push(request.project_id === few ? "few" : "many");
          await delay(20);
        }
        return await store.aggregates.aggregate(request, options);
      },
    },
  });
  await expect.poll(() => looks.filter((each) => each === "many").length, { timeout: 30_000 }).toBeGreaterThan(24);
  const between = looks.join(" ").split("few");
  for (const some of between) expect(some.match(/many/g)?.length ?? 0).toBeLessThan(24);
  // Each of the many is looked at, too.
  for (const projectId of many) await expect.poll(() => stateOf(projectId)).toMatchObject({ current: null });
});

test("a threshold that is too long to be looked at again and again is refused", async () => {
  const filter = { op_names: Array.from({ length: 3000 }, (_, n) => `an operation with a long name ${n}`) };
  await expect(create(newProject(), { ...share, filter })).rejects.toMatchObject({ status: 413 });
});
