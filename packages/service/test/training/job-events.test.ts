import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
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

const pageOf = async (id: string, query: Record<string, string | number> = {}) =>
  await readPage<JobEvent>(service, `/v1/preview/training-jobs/${id}/events`, query);

/** A request of as many gradient steps, because no two sequences fit in one. */
const requestOf = (modelId: string, steps: number) => ({
  model_id: modelId,
  trajectory_groups: [
    { trajectories: Array.from({ length: steps }, (_, n) => trajectory(n * n, choice(n % 2 === 0 ? "yes" : "no"))) },
  ],
  experimental_config: { packed_sequence_length: 1, learning_rate: 1e-4 },
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
