import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Problem } from "@heddle/server-stub";
import { tailEvents } from "../../src/training-jobs/tail-events.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { createRl, eventsOf, newestCheckpoint, newModel } from "./jobs.js";
import type { JobEvent, TrainingClient } from "./jobs.js";
import { readPage } from "./read-page.js";
import { choice, group, trajectory } from "./trajectories.js";

let service: TestService;
let client: TrainingClient;
beforeAll(async () => {
  service = await openTestService({ HEDDLE_TRAINING_STALL: "60" });
  client = service.training();
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

async function first(items: AsyncIterable<unknown>): Promise<unknown> {
  for await (const item of items) return item;
  return undefined;
}

const pageOf = async (id: string, query: Record<string, string | number> = {}) =>
  await readPage<JobEvent>(service, `/v1/preview/training-jobs/${id}/events`, query);

/** A request of as many gradient steps, because no two sequences fit in one. */
const requestOf = (modelId: string, steps: number) => ({
  model_id: modelId,
  trajectory_groups: [{ trajectories: Array.from({ length: steps }, (_, n) => trajectory(n * n, choice("yes"))) }],
  experimental_config: { packed_sequence_length: 1, learning_rate: 1e-6 },
});

test("45 gradient steps are read page by page, each once, and never expire while the job runs", async () => {
  const model = await newModel(client);
  const { id } = await createRl(client, requestOf(model.id, 45));
  // The cursor of clients stays before the first gradient step, so the first event is read again and again.
  let started: JobEvent | undefined;
  let reads = 0;
  while (started === undefined || reads < 5) {
    const { data } = await pageOf(id, { limit: 1 });
    await delay(5);
    if (data[0] === undefined) continue;
    started ??= data[0];
    expect(data[0]).toEqual(started);
    reads += 1;
  }
  expect(started).toMatchObject({ type: "training_started", data: { num_sequences: 45 } });
  const events = await eventsOf(service, id);
  expect(events).toHaveLength(47);
  expect(new Set(events.map((event) => event.id)).size).toBe(47);
  expect(events.slice(1, -1).map(({ data }) => data["gradient_step"])).toEqual(Array.from({ length: 45 }, (_, n) => n));

  const pages: number[] = [];
  let after = "";
  for (let more = true; more;) {
    const page = await pageOf(id, after === "" ? {} : { after });
    expect(page).toMatchObject({ object: "list", first_id: page.data[0]?.id, last_id: page.data.at(-1)?.id });
    pages.push(page.data.length);
    after = page.last_id;
    more = page.has_more;
  }
  expect(pages).toEqual([20, 20, 7]);
  expect(await pageOf(id, { after })).toEqual({ object: "list", data: [], first_id: "", last_id: "", has_more: false });
  for (const cursor of ["00000000-0000-4000-8000-000000000000", id, "x"]) {
    await expect(pageOf(id, { after: cursor })).rejects.toMatchObject({ status: 400 });
  }
  await expect(pageOf(id, { limit: 101 })).rejects.toMatchObject({ status: 422 });
}, 60_000);

test("a job that waits shows its position, and is cancelled at once; a running one ends with training_failed", async () => {
  const model = await newModel(client);
  const running = await createRl(client, requestOf(model.id, 400));
  const waiting = await createRl(client, requestOf(model.id, 2));
  await expect.poll(async () => (await pageOf(running.id)).data.length, { timeout: 30_000 }).toBeGreaterThan(1);
  const state = await client.getTrainingJob({ training_job_id: running.id });
  expect(state).toMatchObject({ status: "RUNNING", phase: "training", queue_position: null, num_sequences: 400 });
  expect(state.progress.completed).toBeGreaterThan(0);
  const second = await client.getTrainingJob({ training_job_id: waiting.id });
  expect(second).toMatchObject({ status: "PENDING", queue_position: 1, training_start: null });
  for (const { id } of [waiting, running]) {
    const cancelled = await client.cancelTrainingJob({ training_job_id: id });
    expect(cancelled).toMatchObject({ status: "CANCELLED", error_type: "cancelled", step: null });
    const last = (await eventsOf(service, id)).at(-1);
    expect(last).toMatchObject({ type: "training_failed", data: { error_message: "the job was cancelled" } });
    expect((await client.cancelTrainingJob({ training_job_id: id })).training_end).toBe(cancelled.training_end);
  }
  const next = await createRl(client, { model_id: model.id, trajectory_groups: [group()] });
  await eventsOf(service, next.id);
  expect(await newestCheckpoint(service, model.id)).toMatchObject({ step: 1, job_id: next.id });
}, 60_000);

test("events are followed as they are stored, resumed after the last one seen, and end with the job", async () => {
  const model = await newModel(client);
  const { id } = await createRl(client, requestOf(model.id, 45));
  const seen: { id: string; type: string; created_at: string }[] = [];
  for await (const event of client.tailTrainingJobEvents({ training_job_id: id })) {
    seen.push(event);
    // What was sent is stored, and the job still runs while its steps are sent.
    if (seen.length === 5) {
      expect((await client.getTrainingJob({ training_job_id: id })).status).toBe("RUNNING");
      break;
    }
  }
  const resumed = client.tailTrainingJobEvents({ training_job_id: id, "Last-Event-ID": seen.at(-1)?.id ?? "" });
  for await (const event of resumed) seen.push(event);
  const stored = await eventsOf(service, id);
  expect(seen).toEqual(stored);
  expect(stored).toHaveLength(47);
  const times = seen.map(({ created_at }) => created_at);
  expect(times).toEqual(times.toSorted());
  expect(times[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);

  const again: unknown[] = [];
  const all = { training_job_id: id, "Last-Event-ID": stored.at(-1)?.id ?? "" };
  for await (const event of client.tailTrainingJobEvents(all)) again.push(event);
  expect(again).toEqual([]);
  const response = await service.fetch(`http://in-process/v1/preview/training-jobs/${id}/events/stream`, {
    headers: { authorization: `Bearer ${service.owner_key}`, "last-event-id": stored.at(-2)?.id ?? "" },
  });
  const last = stored.at(-1);
  const [comment, event, ...end] = (await response.text()).split("\n\n");
  expect([comment, event?.split("\ndata: ")[0], end]).toEqual([":", `id: ${last?.id}`, ["data: [DONE]", ""]]);
  const unknown = client.tailTrainingJobEvents({ training_job_id: id, "Last-Event-ID": model.id });
  await expect(first(unknown)).rejects.toMatchObject({ status: 400 });
}, 60_000);

test("a key follows 20 jobs, and a stream ends with its client, its key and its project", async () => {
  const key = await service.key({});
  const alice = service.training(key);
  const project = newProject();
  const model = await newModel(client, project);
  const running = await createRl(client, requestOf(model.id, 400));
  const { id } = await createRl(client, requestOf(model.id, 1));
  const open = async (): Promise<[Response, AbortController]> => {
    const controller = new AbortController();
    const response = await service.fetch(`http://in-process/v1/preview/training-jobs/${id}/events/stream`, {
      headers: { authorization: `Bearer ${key}` },
      signal: controller.signal,
    });
    return [response, controller];
  };
  const streams = await Promise.all(Array.from({ length: 20 }, open));
  expect(streams.map(([{ status }]) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  const refused = alice.tailTrainingJobEvents({ training_job_id: id });
  await expect(first(refused)).rejects.toMatchObject({ status: 429, message: expect.stringContaining("20") });
  for (const [{ body }, controller] of streams) {
    await body?.cancel();
    controller.abort();
  }
  const [again] = await open();
  expect(again.status).toBe(200);
  await again.body?.cancel();

  const { control } = service.services;
  const job = await control.trainingJobs.get(id);
  if (job === undefined) throw new Error("no job");
  const revoking = new AbortController();
  const tail = await tailEvents(control, job, { after: undefined, signal: revoking.signal });
  await tail.next();
  const next = tail.next();
  revoking.abort(new Problem(401, "The API key was revoked"));
  await expect(next).rejects.toMatchObject({ status: 401 });

  const [followed] = await open();
  await client.deleteModel({ model_id: model.id });
  expect(await followed.text()).toContain('"type":"training_failed"');
  expect(await control.trainingJobs.get(running.id)).toMatchObject({ state: "cancelled" });
}, 60_000);

test("the jobs of a project are listed newest first, by their states and models", async () => {
  const project = newProject();
  const [first, second] = [await newModel(client, project), await newModel(client, project, "other")];
  const other = await newModel(client);
  const ids: string[] = [];
  for (const model of [first, second, first, other]) {
    const { id } = await createRl(client, { model_id: model.id, trajectory_groups: [] });
    await eventsOf(service, id);
    ids.push(id);
  }
  const running = await createRl(client, requestOf(first.id, 400));
  const [one, two, three] = ids;
  type Query = Omit<Parameters<TrainingClient["listTrainingJobs"]>[0], "project_id">;
  const listed = async (query: Query = {}) => {
    const found: string[] = [];
    for await (const { id } of client.listTrainingJobs({ project_id: project, ...query })) found.push(id);
    return found;
  };
  expect(await listed()).toEqual([running.id, three, two, one]);
  expect(await listed({ limit: 1 })).toEqual([running.id, three, two, one]);
  expect(await listed({ status: ["COMPLETED"], model_id: first.id.toUpperCase() })).toEqual([three, one]);
  expect(await listed({ status: ["PENDING", "RUNNING"] })).toEqual([running.id]);
  expect(await listed({ model_id: other.id })).toEqual([]);
  await expect(listed({ after: ids[3] })).rejects.toMatchObject({ status: 400 });
  await client.deleteModel({ model_id: first.id });
  expect(await listed()).toEqual([two]);
}, 60_000);

test("jobs end when their model is deleted, and are unknown then", async () => {
  const model = await newModel(client);
  const running = await createRl(client, requestOf(model.id, 400));
  await expect.poll(async () => (await pageOf(running.id)).data.length, { timeout: 30_000 }).toBeGreaterThan(1);
  await client.deleteModel({ model_id: model.id });
  await expect(client.getTrainingJob({ training_job_id: running.id })).rejects.toMatchObject({ status: 404 });
  await expect(pageOf(running.id)).rejects.toMatchObject({ status: 404 });
  const { control } = service.services;
  expect(await control.trainingJobs.get(running.id)).toMatchObject({ state: "cancelled" });
  await expect
    .poll(async () => (await control.jobs.get(running.id, running.id))?.state ?? "cancelled")
    .toBe("cancelled");
}, 60_000);
