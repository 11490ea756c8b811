import { afterAll, beforeAll, expect, test } from "vitest";
import { collectBlobs } from "../../src/operations/blobs/collect-blobs.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { createRl, eventsOf, newModel } from "./jobs.js";
import type { TrainingClient } from "./jobs.js";
import { choice, group, trajectory } from "./trajectories.js";

let service: TestService;
let client: TrainingClient;
beforeAll(async () => {
  service = await openTestService({ HEDDLE_KEEP_ROLLOUTS: "0.1MB" });
  client = service.training();
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

type Query = Omit<Parameters<TrainingClient["listTrainingJobRollouts"]>[0], "training_job_id">;
type Rollout = ReturnType<TrainingClient["listTrainingJobRollouts"]> extends AsyncIterable<infer Item> ? Item : never;

async function rolloutsOf(id: string, query: Query = {}): Promise<Rollout[]> {
  const found: Rollout[] = [];
  for await (const each of client.listTrainingJobRollouts({ training_job_id: id, ...query })) found.push(each);
  return found;
}

/** The response as it was sent. */
async function textOf(id: string, query = ""): Promise<string> {
  const response = await service.fetch(`http://in-process/v1/preview/training-jobs/${id}/rollouts?${query}`, {
    headers: { authorization: `Bearer ${service.owner_key}` },
  });
  return await response.text();
}

const daysAhead = (days: number) => BigInt(Date.now() + days * 24 * 3_600_000) * 1000n;
const blobCount = async () => {
  let count = 0;
  for await (const _ of service.services.blobs.list()) count++;
  return count;
};

test("rollouts of a job say what each contributes, in the order of the request, of rewards and of advantages", async () => {
  const model = await newModel(client);
  const silent = { ...choice("maybe"), logprobs: null };
  const of = (reward: number, answer: unknown, metadata: object) => ({ ...trajectory(reward, answer), metadata });
  const { id } = await createRl(client, {
    model_id: model.id,
    trajectory_groups: [
      { trajectories: [of(0.5, choice("a"), { call_id: "one" }), of(0.5, choice("b"), {})] },
      {
        trajectories: [
          of(3, { ...choice("yes"), call_id: "three" }, { call_ids: "two, three" }),
          of(0, { ...choice("no"), call_id: "four" }, { call_id: 7 }),
          of(0, silent, {}),
          of(1, choice("!"), {}),
        ],
      },
    ],
  });
  await eventsOf(service, id);
  const all = await rolloutsOf(id);
  expect(all.map((each) => [each.id, each.reward, each.skipped, each.trained_tokens, each.call_ids])).toEqual([
    ["0.0", 0.5, "no_advantage", 0, ["one"]],
    ["0.1", 0.5, "no_advantage", 0, []],
    ["1.0", 3, null, 4, ["two", "three"]],
    ["1.1", 0, null, 3, ["four"]],
    ["1.2", 0, "no_logprobs", 0, []],
    ["1.3", 1, "no_advantage", 0, []],
  ]);
  expect(all[2]).toMatchObject({ group: 1, index: 0, metrics: { duration: 1 }, tokens: expect.any(Number) });
  expect(all[2]?.advantage).toBeGreaterThan(1);
  expect(all[3]?.advantage).toBeLessThan(0);
  expect(all[0]).not.toHaveProperty("data");
  const ids = async (query: Query) => (await rolloutsOf(id, query)).map((each) => each.id);
  expect(await ids({ sort_by: "reward", order: "desc", limit: 1 })).toEqual(["1.0", "1.3", "0.1", "0.0", "1.2", "1.1"]);
  expect((await ids({ sort_by: "advantage" })).slice(-1)).toEqual(["1.0"]);
  expect(await ids({ group: 1, sort_by: "reward" })).toEqual(["1.1", "1.2", "1.3", "1.0"]);
  expect(await ids({ group: 9 })).toEqual([]);
  for (const after of ["2.0", "x", "\0"]) await expect(ids({ after })).rejects.toMatchObject({ status: 400 });
});

test("the trajectories are there as they were sent, byte for byte, until the model is deleted", async () => {
  const model = await newModel(client);
  const texts = [
    `{ "reward": 1.0, "messages_and_choices": [{"role":"user","content":"h\\u00e9 \u00e9 \u{1f9f5}"},${JSON.stringify(choice("yes"))}],
      "metadata": {"id": 107505301260286111, "id": "again"}, "logs": [], "extra": 1e2 }`,
    JSON.stringify(trajectory(0, choice("no"))),
  ];
  const body = `{"model_id":"${model.id}","trajectory_groups":[{"trajectories":[${texts.join(" ,\n")}]}]}`;
  const response = await service.fetch("http://in-process/v1/preview/training-jobs", {
    method: "POST",
    body,
    headers: { authorization: `Bearer ${service.owner_key}`, "content-type": "application/json" },
  });
  const { id } = (await response.json()) as { id: string };
  await eventsOf(service, id);
  const sent = await textOf(id, "include=data&limit=100");
  for (const text of texts) expect(sent).toContain(`"data":${text}`);
  expect(await textOf(id, "include=data&limit=1&order=desc")).toContain(`"data":${texts[1]}`);
  expect(await textOf(id)).not.toContain('"data":{');

  await collectBlobs(service.services, daysAhead(2));
  expect(await textOf(id, "include=data")).toContain(texts[1]);
  const before = await blobCount();
  await client.deleteModel({ model_id: model.id });
  await expect(rolloutsOf(id)).rejects.toMatchObject({ status: 404 });
  const { control } = service.services;
  expect(await control.trainingJobs.get(id)).toMatchObject({ rollouts_blob: null });
  expect((await control.trainingJobs.rollouts.page(id, { limit: 10 })).rollouts).toEqual([]);
  await collectBlobs(service.services, daysAhead(2));
  expect(await blobCount()).toBeLessThan(before);
});

test("a running job and a failed one have them, and those of a deleted project are gone", async () => {
  const project = newProject();
  const model = await newModel(client, project);
  const many = Array.from({ length: 60 }, (_, n) => trajectory(n * n, choice("yes")));
  const running = await createRl(client, {
    model_id: model.id,
    trajectory_groups: [{ trajectories: many }],
    experimental_config: { packed_sequence_length: 1, learning_rate: 1e-6 },
  });
  await expect.poll(async () => (await rolloutsOf(running.id)).length, { timeout: 30_000 }).toBe(60);
  expect((await client.getTrainingJob({ training_job_id: running.id })).status).toBe("RUNNING");
  await client.cancelTrainingJob({ training_job_id: running.id });
  expect(await rolloutsOf(running.id)).toHaveLength(60);
  const silent = { ...choice("maybe"), logprobs: null };
  const failed = await createRl(client, {
    model_id: model.id,
    trajectory_groups: [{ trajectories: [trajectory(1, silent), trajectory(0, silent)] }],
  });
  await eventsOf(service, failed.id);
  expect((await rolloutsOf(failed.id)).map(({ skipped }) => skipped)).toEqual(["no_logprobs", "no_logprobs"]);
  await service.tracing().projectDelete({ project_id: project, expected_name: project.split("/")[1] ?? "" });
  const { rollouts } = service.services.control.trainingJobs;
  for (const { id } of [running, failed]) expect((await rollouts.page(id, { limit: 1 })).rollouts).toEqual([]);
}, 60_000);

test("those of the oldest jobs that have ended are deleted beyond what is kept", async () => {
  const model = await newModel(client);
  const ids: string[] = [];
  // Of some 60 kB each.
  for (const question of ["one", "two"]) {
    const long = `${question} ${"why ".repeat(7000)}`;
    const request = { model_id: model.id, trajectory_groups: [group(long)] };
    const { id } = await createRl(client, request);
    await eventsOf(service, id);
    ids.push(id);
  }
  const [first = "", second = ""] = ids;
  await expect.poll(async () => (await rolloutsOf(first)).length).toBe(0);
  expect(await rolloutsOf(second)).toHaveLength(2);
  expect(await textOf(second, "include=data")).toContain('"data":{"messages_and_choices"');
}, 60_000);
