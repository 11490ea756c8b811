import { createHmac } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import { afterAll, beforeAll, expect, test } from "vitest";
import { StoreEvents } from "../../src/webhooks/store-events.js";
import { WebhookSender } from "../../src/webhooks/webhook-sender.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { createRl, eventsOf, newModel } from "../training/jobs.js";
import { startUpstream } from "../upstream.js";
import type { Received } from "../upstream.js";

type Receiver = Awaited<ReturnType<typeof startUpstream>>;

let service: TestService;
let receiver: Receiver;
/** By path, the statuses of the next responses; then 204. */
const statuses = new Map<string, number[]>();
beforeAll(async () => {
  service = await openTestService({ HEDDLE_WEBHOOKS_PRIVATE: "on" }, { sendsWebhooks: true });
  receiver = await startUpstream({});
  for (const path of ["/a", "/b", "/gone", "/again"]) {
    receiver.routes[`POST ${path}`] = (response) => {
      const status = statuses.get(path)?.shift() ?? 204;
      response.writeHead(status, status === 302 ? { location: "/a" } : {});
      response.end();
    };
  }
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
  await receiver.close();
});

const sentTo = (path: string): Received[] => receiver.received.filter((each) => each.path === path);
const bodiesOf = (path: string) =>
  sentTo(path).map(({ body }) => JSON.parse(body) as { type: string; data: Record<string, unknown> });

async function logOf(projectId: string, webhookId: string) {
  const { deliveries } = await service
    .tracing()
    .webhookDeliveryList({ project_id: projectId, webhook_id: webhookId, limit: 100 });
  return deliveries;
}

test("events of a project are sent to its webhooks, signed, and to nobody else", async () => {
  const client = service.tracing();
  const projectId = newProject();
  const other = newProject();
  const events = ["training_job.ended", "feedback.created", "evaluation_run.finished"] as const;
  const { webhook, secret } = await client.webhookCreate({
    project_id: projectId,
    url: `${receiver.url}/a`,
    events: [...events],
    description: "ours",
  });
  await client.webhookCreate({ project_id: other, url: `${receiver.url}/b`, events: ["feedback.created"] });
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(await client.webhookList({ project_id: projectId })).toEqual({ webhooks: [webhook] });
  expect(JSON.stringify(await client.webhookList({ project_id: projectId }))).not.toContain(secret);

  const training = service.training();
  const model = await newModel(training, projectId);
  const job = await createRl(training, { model_id: model.id, trajectory_groups: [] });
  await eventsOf(service, job.id);
  const weaveRef = `weave:///${projectId}/call/abc`;
  const rated = { project_id: projectId, weave_ref: weaveRef, payload: { value: 1 } };
  const { id } = await client.feedbackCreate({ ...rated, feedback_type: "quality" });
  const { res } = await client.feedbackCreateBatch({
    batch: [
      { ...rated, feedback_type: "tone" },
      { ...rated, feedback_type: "heddle.training_job" },
    ],
  });
  const [tone] = res;
  const replaced = await client.feedbackReplace({ ...rated, feedback_type: "quality", feedback_id: id });
  // Feedback that is given at about the same time is one event.
  const told = () => bodiesOf("/a").flatMap(({ data }) => (data["feedback"] ?? []) as Array<Record<string, unknown>>);
  await expect.poll(() => told().at(-1)?.["id"], { timeout: 20_000 }).toBe(replaced.id);
  await expect.poll(() => bodiesOf("/a").some(({ type }) => type === "training_job.ended")).toBe(true);
  expect(bodiesOf("/a").find(({ type }) => type === "training_job.ended")?.data).toMatchObject({
    project_id: projectId,
    training_job_id: job.id,
    model_id: model.id,
    status: "COMPLETED",
    step: 1,
  });
  for (const { type, data } of bodiesOf("/a")) {
    if (type !== "feedback.created") continue;
    expect(data).toEqual({ project_id: projectId, count: (data["feedback"] as []).length, feedback: data["feedback"] });
  }
  // What was replaced at once may be gone before it was told of.
  expect(told().filter((each) => each["id"] !== id)).toEqual([
    { id: tone?.id, feedback_type: "tone", weave_ref: weaveRef },
    { id: replaced.id, feedback_type: "quality", weave_ref: weaveRef },
  ]);
  for (const { headers, body } of sentTo("/a")) {
    const [messageId = "", timestamp = ""] = [headers["webhook-id"], headers["webhook-timestamp"]].map(String);
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    const signature = createHmac("sha256", key).update(`${messageId}.${timestamp}.${body}`).digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${signature}`);
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(60);
    expect(headers["content-type"]).toBe("application/json");
  }
  await expect
    .poll(async () => new Set((await logOf(projectId, webhook.id)).map(({ state }) => state)))
    .toEqual(new Set(["delivered"]));
  expect(sentTo("/b")).toEqual([]);
  const foreign = { project_id: other, webhook_id: webhook.id };
  await expect(client.webhookDeliveryList(foreign)).rejects.toMatchObject({ status: 404 });
  await expect(client.webhookDelete(foreign)).rejects.toMatchObject({ status: 404 });
  expect(await client.webhookDelete({ project_id: projectId, webhook_id: webhook.id })).toEqual({ deleted: true });
  await client.feedbackCreate({ ...rated, feedback_type: "late" });
  await expect(logOf(projectId, webhook.id)).rejects.toMatchObject({ status: 404 });
}, 60_000);

test("a run that is finished is reported once, by clients and by the service", async () => {
  const client = service.tracing();
  const [entity = "", project = ""] = newProject().split("/");
  const projectId = `${entity}/${project}`;
  const hook = { project_id: projectId, url: `${receiver.url}/b`, events: ["evaluation_run.finished" as const] };
  await client.webhookCreate(hook);
  const { evaluation_run_id } = await client.evaluationRunCreate({
    entity,
    project,
    evaluation: `weave:///${projectId}/object/evaluation:abc`,
    model: `weave:///${projectId}/object/model:abc`,
  });
  for (let n = 0; n < 2; n++) await client.evaluationRunFinish({ entity, project, evaluation_run_id });
  await expect.poll(() => bodiesOf("/b").length).toBe(1);
  expect(bodiesOf("/b")[0]).toMatchObject({
    type: "evaluation_run.finished",
    data: { project_id: projectId, evaluation_run_id, error: null },
  });
});

test("what is not delivered is sent again with the same id, also by another process, until it is given up", async () => {
  const client = service.tracing();
  const { control } = service.services;
  const projectId = newProject();
  statuses.set("/again", [500, 302]);
  statuses.set("/gone", [410]);
  const of = async (path: string) =>
    (await client.webhookCreate({ project_id: projectId, url: `${receiver.url}${path}`, events: ["feedback.created"] }))
      .webhook;
  const [again, gone] = [await of("/again"), await of("/gone")];
  await client.feedbackCreate({
    project_id: projectId,
    weave_ref: `weave:///${projectId}/call/a`,
    feedback_type: "q",
    payload: {},
  });
  await expect.poll(async () => (await logOf(projectId, gone.id))[0]?.state).toBe("failed");
  expect((await logOf(projectId, gone.id))[0]).toMatchObject({ attempts: 1, response_status: 410 });
  await expect.poll(async () => (await logOf(projectId, again.id))[0]?.attempts).toBe(1);
  const [failed] = await logOf(projectId, again.id);
  expect(failed).toMatchObject({ state: "pending", response_status: 500, error: "the receiver responded with 500" });
  const waits = Date.parse(failed?.next_attempt_at ?? "") - Date.parse(failed?.created_at ?? "");
  expect(waits).toBeGreaterThanOrEqual(5000);
  // As after a crash: what was sent and not recorded is due still.
  expect(await control.webhooks.msToNextDue()).toBeGreaterThan(0);
  await control.webhooks.record(failed?.id ?? "", { error: "lost", outcome: { after: 0n } });
  await client.feedbackCreate({
    project_id: projectId,
    weave_ref: `weave:///${projectId}/call/b`,
    feedback_type: "q",
    payload: {},
  });
  await expect.poll(() => sentTo("/again").length, { timeout: 10_000 }).toBe(3);
  const ids = sentTo("/again").map(({ headers }) => headers["webhook-id"]);
  expect(ids[1]).toBe(ids[0]);
  expect(ids[2]).not.toBe(ids[0]);
  // A redirect is not followed, and ends the delivery.
  await expect.poll(async () => (await logOf(projectId, again.id))[1]?.state).toBe("failed");
}, 60_000);

test("a webhook to the service itself changes nothing, and causes no further event", async () => {
  const client = service.tracing();
  const projectId = newProject();
  const url = await service.listen();
  const { webhook } = await client.webhookCreate({
    project_id: projectId,
    url: `${url}/feedback/create?api_key=${service.owner_key}`,
    events: ["feedback.created"],
  });
  const weaveRef = `weave:///${projectId}/call/abc`;
  await client.feedbackCreate({ project_id: projectId, weave_ref: weaveRef, feedback_type: "q", payload: {} });
  await expect.poll(async () => (await logOf(projectId, webhook.id))[0]?.attempts, { timeout: 20_000 }).toBe(1);
  expect(await logOf(projectId, webhook.id)).toMatchObject([{ state: "pending", response_status: 401 }]);
  expect((await client.feedbackQuery({ project_id: projectId })).result).toHaveLength(1);
}, 60_000);

test("URLs that nothing may be sent to are refused, when they are given and when they are used", async () => {
  const closed = await openTestService();
  const client = closed.tracing();
  const projectId = newProject();
  const create = async (url: string) =>
    await client.webhookCreate({ project_id: projectId, url, events: ["feedback.created"] });
  for (const url of [
    "x",
    "ftp://hooks.example.com",
    "http://hooks.example.com",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://10.1.2.3:8080/x",
    "https://169.254.169.254/latest",
    "https://0x7f000001/",
    "https://[::ffff:127.0.0.1]/",
    "https://localhost./",
    "https://hooks.LOCALHOST:8080/",
    "https://user:pw@hooks.example.com/",
  ]) {
    await expect(create(url)).rejects.toMatchObject({
      status: 422,
      body: { detail: [{ loc: ["body", "url"] }] },
    });
  }
  expect((await client.webhookList({ project_id: projectId })).webhooks).toEqual([]);
  const reader = closed.tracing(await closed.key({ role: "write" }));
  await expect(reader.webhookList({ project_id: projectId })).rejects.toMatchObject({ status: 403 });
  // A name that resolves to this machine, given before the setting was changed.
  const hook = {
    project_id: projectId,
    url: "http://localhost:1/",
    events: ["feedback.created" as const],
    position: 0n,
    created_by: "ann",
  };
  const { webhook } = await closed.services.control.webhooks.create(hook);
  await client.feedbackCreate({
    project_id: projectId,
    weave_ref: `weave:///${projectId}/call/a`,
    feedback_type: "q",
    payload: {},
  });
  const sender = new WebhookSender(closed.services, (error) => expect(error).toBeUndefined());
  sender.start();
  const events = new StoreEvents(closed.services, (error) => expect(error).toBeUndefined());
  events.start();
  const log = async () => await client.webhookDeliveryList({ project_id: projectId, webhook_id: webhook.id });
  await expect.poll(async () => (await log()).deliveries[0]?.state, { timeout: 10_000 }).toBe("failed");
  expect((await log()).deliveries[0]?.error).toContain("not public");
  await events.stop();
  await sender.stop();
  await client.projectDelete({ project_id: projectId, expected_name: projectId.split("/")[1] ?? "" });
  expect(await closed.services.control.webhooks.list(projectId)).toEqual([]);
  await closed.close();
}, 60_000);

test("a project has at most 100 webhooks, and one of them at most 10,000 events that wait", async () => {
  const { webhooks } = service.services.control;
  const projectId = newProject();
  const hook = {
    project_id: projectId,
    url: `${receiver.url}/a`,
    events: ["feedback.created" as const],
    position: 0n,
    created_by: "ann",
  };
  for (let n = 0; n < 100; n++) await webhooks.create(hook);
  await expect(webhooks.create(hook)).rejects.toBeInstanceOf(HeddleError);
  const client = service.tracing();
  const created = client.webhookCreate({ project_id: projectId, url: hook.url, events: hook.events });
  await expect(created).rejects.toMatchObject({ status: 409 });
});

test("what was stored before the service ended is told after its next start, once, whoever wrote it", async () => {
  const stopped = await openTestService();
  const client = stopped.tracing();
  const projectId = newProject();
  const [entity = "", project = ""] = projectId.split("/");
  const rated = { project_id: projectId, weave_ref: `weave:///${projectId}/call/a`, payload: {} };
  await client.feedbackCreate({ ...rated, feedback_type: "before" });
  const { webhook } = await client.webhookCreate({
    project_id: projectId,
    url: "https://hooks.example.com/",
    events: ["feedback.created", "evaluation_run.finished"],
  });
  const run = <More extends object>(id: string, more: More) => ({
    project_id: projectId,
    id,
    trace_id: id,
    op_name: `weave:///${projectId}/op/Evaluation.evaluate:abc`,
    started_at: new Date().toISOString(),
    attributes: {},
    inputs: {},
    ...more,
  });
  const ended = { ended_at: new Date().toISOString(), output: null, summary: {} };
  const batch = [run("good", ended), run("bad", { ...ended, exception: "no model" })];
  await client.callsComplete({ entity, project, batch });
  await client.callStart({ start: run("running", {}) });
  const { id: feedbackId } = await client.feedbackCreate({ ...rated, feedback_type: "after" });
  const told = async () =>
    (await stopped.services.control.webhooks.deliveries(webhook.id, { limit: 100 })).deliveries
      .map(({ payload }) => (JSON.parse(payload) as { data: Record<string, unknown> }).data)
      .toReversed();
  const start = () => {
    const events = new StoreEvents({ ...stopped.services, everyMs: 5 }, (error) => expect(error).toBeUndefined());
    events.start();
    return events;
  };
  const expected = [
    { project_id: projectId, evaluation_run_id: "good", error: null },
    { project_id: projectId, evaluation_run_id: "bad", error: "no model" },
    {
      project_id: projectId,
      count: 1,
      feedback: [{ id: feedbackId, feedback_type: "after", weave_ref: rated.weave_ref }],
    },
  ];
  const first = start();
  await expect.poll(told, { timeout: 20_000 }).toHaveLength(3);
  await first.stop();
  expect(await told()).toEqual(expect.arrayContaining(expected));
  // Renamed, it has not ended again.
  await client.callUpdate({ project_id: projectId, call_id: "good", display_name: "renamed" });
  const second = start();
  await client.callEnd({ end: { project_id: projectId, id: "running", ...ended } });
  await expect.poll(told, { timeout: 20_000 }).toHaveLength(4);
  await second.stop();
  expect((await told()).at(-1)).toEqual({ project_id: projectId, evaluation_run_id: "running", error: null });
  await stopped.close();
}, 60_000);
