import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { createRl, eventsOf, newestCheckpoint, newModel } from "./jobs.js";
import type { TrainingClient } from "./jobs.js";
import { choice, group, trajectory } from "./trajectories.js";

let service: TestService;
let client: TrainingClient;
beforeAll(async () => {
  service = await openTestService();
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
const types = (events: { type: string }[]) => events.map(({ type }) => type);

test("two training steps make the checkpoints 1 and 2, visible when the job has ended", async () => {
  const model = await newModel(client);
  expect(await newestCheckpoint(service, model.id)).toMatchObject({ step: 0, untrained: true, parity: null });
  for (const step of [1, 2]) {
    const job = await createRl(client, {
      model_id: model.id,
      trajectory_groups: [group(), { ...group("why?"), exceptions: [{ type: "E", message: "m", traceback: "" }] }],
      experimental_config: { learning_rate: 0.001, ppo: null, packed_sequence_length: 30 },
    });
    expect(job).toMatchObject({ model_id: model.id, kind: "rl", warnings: [] });
    const events = await eventsOf(service, job.id);
    const steps = events.length - 2;
    expect(types(events)).toEqual([
      "training_started",
      ...Array.from({ length: steps }, () => "gradient_step"),
      "training_ended",
    ]);
    const checkpoint = await newestCheckpoint(service, model.id);
    expect(checkpoint).toMatchObject({ step, untrained: false, job_id: job.id });
    const { max_difference, ...parity } = checkpoint?.parity ?? { max_difference: 1 };
    expect(max_difference).toBeLessThanOrEqual(0.001);
    expect(parity).toEqual({ tolerance: 0.001, tokens: expect.any(Number), checked_at: expect.any(String) });
    expect(checkpoint?.metrics).toMatchObject({
      "train/reward": 0.5,
      "train/exception_rate": 0.2,
      "train/duration": 1,
      "train/loss": expect.any(Number),
    });
    expect(events[0]?.data).toMatchObject({ num_sequences: steps, num_trajectories: 4 });
    for (const { data } of events.slice(1, -1)) {
      for (const value of Object.values(data)) expect(value).toSatisfy(Number.isFinite);
    }
    expect(events.at(-1)?.data).toMatchObject({ step, checkpoint_id: checkpoint?.id, num_gradient_steps: steps });
    expect(await client.getTrainingJob({ training_job_id: job.id })).toMatchObject({
      status: "COMPLETED",
      phase: null,
      queue_position: null,
      progress: { completed: steps, total: steps },
      step,
      checkpoint_id: checkpoint?.id,
      num_sequences: steps,
      error_message: null,
    });
  }
  const listed: unknown[] = [];
  for await (const { step } of client.listModelTrainingJobs({ model_id: model.id, order: "desc" })) listed.push(step);
  expect(listed).toEqual([2, 1]);
  const { control } = service.services;
  const version = await control.artifacts.get(`${model.entity}/${model.project}`, model.name, "step2");
  expect(version).toMatchObject({ type: "lora", index: 2, aliases: ["latest", "step2"] });
});

test("rewards that are all equal advance the step with unchanged weights", async () => {
  const model = await newModel(client);
  const equal = [{ trajectories: [trajectory(0.5, choice("yes")), trajectory(0.5, choice("no"))] }];
  const train = async (groups: object[]) => {
    const request = {
      model_id: model.id,
      trajectory_groups: groups,
      experimental_config: { learning_rate: 0.01 },
    };
    const { id } = await createRl(client, request);
    const events = await eventsOf(service, id);
    ended = events.at(-1)?.data;
    expect(await client.getTrainingJob({ training_job_id: id })).toMatchObject({
      warnings: ended?.["warning"] === undefined ? [] : [ended["warning"]],
    });
    return [types(events), await newestCheckpoint(service, model.id)] as const;
  };
  let ended: Record<string, unknown> | undefined;
  const [untrained, first] = await train(equal);
  expect([untrained, first?.step, first?.untrained]).toEqual([["training_started", "training_ended"], 1, true]);
  expect(ended).toMatchObject({ warning: "Nothing was trained: the rewards of each group are equal." });
  // Its step is downloaded, too.
  const { entity, project, name } = model;
  const unchanged = await client.getArtifactVersion({ entity, project, name, version: "step1" });
  expect(unchanged).toMatchObject({
    version: "v1",
    digest: (await client.getArtifactVersion({ entity, project, name, version: "v0" })).digest,
  });
  await train([1, 0].map((reward) => ({ trajectories: [trajectory(reward, choice("yes"))] })));
  expect(ended).toMatchObject({ warning: expect.stringContaining("no group has two trajectories") });
  await train([group(), { trajectories: [] }]);
  expect(ended).toMatchObject({ num_groups_submitted: 2, num_groups_trainable: 1, num_groups_empty: 1 });
  expect(ended).not.toHaveProperty("warning");
  await expect(train([{ trajectories: [] }])).rejects.toMatchObject({ status: 422 });
  const [nothing, fourth] = await train([]);
  expect([nothing, fourth?.step, fourth?.untrained]).toEqual([["training_started", "training_ended"], 4, false]);
  expect(ended).toMatchObject({ warning: "Nothing was trained: there are no groups." });
  const { control } = service.services;
  const weights = await Promise.all(
    [3, 4].map(async (step) => {
      const version = await control.artifacts.get(`${model.entity}/${model.project}`, model.name, `step${step}`);
      return (await control.artifacts.getFile(version?.id ?? "", "adapter_model.safetensors"))?.sha256;
    }),
  );
  expect(weights[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(weights[1]).toBe(weights[0]);
});

test.each([
  ["weight", 0],
  ["train", false],
  ["trainable", 0],
  ["loss_mask", false],
  ["loss_mask", [0, 0]],
])("a trajectory with %s %j is not trained, and a part of it is refused", async (name, flag) => {
  const model = await newModel(client);
  const create = async (value: unknown) => {
    const rewarded = { ...trajectory(1, choice("yes")), [name]: value };
    const groups = [{ trajectories: [rewarded, trajectory(0, choice("no"))] }];
    return await createRl(client, { model_id: model.id, trajectory_groups: groups });
  };
  const { id } = await create(flag);
  const events = await eventsOf(service, id);
  expect(events.at(-1)).toMatchObject({
    type: "training_ended",
    data: { num_dropped_trajectories: 1, num_untrainable_excluded: 1, num_datums: 1 },
  });
  await expect(create(Array.isArray(flag) ? [0] : 0.5)).rejects.toMatchObject({
    status: 422,
    reason: expect.stringContaining(`trajectory_groups.0.trajectories.0.${name}: `) as string,
  });
});

test("samples without log-probabilities fail the job with the reason, and the next job runs", async () => {
  const model = await newModel(client);
  const silent = (content: string) => ({ ...choice(content), logprobs: null });
  const groups = [{ trajectories: [trajectory(1, silent("yes")), trajectory(0, silent("no"))] }];
  const failed = await createRl(client, { model_id: model.id, trajectory_groups: groups });
  const after = await createRl(client, { model_id: model.id, trajectory_groups: [group()] });
  const [failure] = await eventsOf(service, failed.id);
  expect(failure).toMatchObject({ type: "training_failed", data: { error_type: "invalid" } });
  const message = failure?.data["error_message"];
  expect(message).toContain("no_logprobs: 2");
  expect(message).toContain("trajectory_groups.0.trajectories.0.messages_and_choices.1");
  expect(await client.getTrainingJob({ training_job_id: failed.id })).toMatchObject({
    status: "FAILED",
    error_message: message,
    error_type: "invalid",
    step: null,
    training_end: expect.any(String),
  });
  await eventsOf(service, after.id);
  expect(await newestCheckpoint(service, model.id)).toMatchObject({ step: 1, job_id: after.id });
});

test("a request that is sent again returns the same job", async () => {
  const model = await newModel(client);
  const request = { model_id: model.id, trajectory_groups: [group()] };
  const create = async (more: object = {}) => (await createRl(client, { ...request, ...more })).id;
  const [first, again] = await Promise.all([create(), create()]);
  expect(again).toBe(first);
  await eventsOf(service, first);
  expect(await create()).not.toBe(first);
  const named = await create({ "Idempotency-Key": "step-7" });
  await eventsOf(service, named);
  expect(await create({ "Idempotency-Key": "step-7" })).toBe(named);
  const other = create({ "Idempotency-Key": "step-7", trajectory_groups: [] });
  await expect(other).rejects.toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["header", "Idempotency-Key"] }] },
  });
});

test("settings that this service does not know are reported, and wrong ones refused", async () => {
  const model = await newModel(client);
  const create = async (config: object) =>
    await createRl(client, { model_id: model.id, trajectory_groups: [], experimental_config: config });
  const job = await create({ fancy_mode: true, epsilon: null });
  expect(job.warnings).toEqual([expect.stringContaining("fancy_mode")]);
  const [started] = await eventsOf(service, job.id);
  expect(started?.data).toMatchObject({ unknown_settings: ["fancy_mode"] });
  await expect(create({ ppo: true, loss_fn: "cispo" })).rejects.toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body", "experimental_config", "loss_fn"] }] },
  });
  await expect(create({ kl_ref_adapter_path: "/etc/passwd" })).rejects.toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body", "experimental_config", "kl_ref_adapter_path"] }] },
  });
  await expect(create({ kl_ref_adapter_path: "heddle-artifact:///acme/demo/none:v0" })).rejects.toMatchObject({
    status: 404,
  });
});

test("a KL penalty refers to an earlier step, and fails for one that is not there", async () => {
  const model = await newModel(client);
  const train = async (config: object) => {
    const request = { model_id: model.id, trajectory_groups: [group()], experimental_config: config };
    return await eventsOf(service, (await createRl(client, request)).id);
  };
  await train({ learning_rate: 0.01 });
  const events = await train({ kl_penalty_coef: 0.1, kl_penalty_reference_step: 0 });
  expect(events[1]?.data).toHaveProperty("kl_policy_ref");
  for (const reference of [{ kl_penalty_step_lag: 1 }, { kl_penalty_reference_step: 1 }])
    expect((await train({ kl_penalty_coef: 0.1, ...reference })).at(-1)?.type).toBe("training_ended");
  const [, failure] = await train({ kl_penalty_coef: 0.1, kl_penalty_reference_step: 9 }).then((all) => [
    0,
    all.at(-1),
  ]);
  expect(failure).toMatchObject({
    type: "training_failed",
    data: { error_message: expect.stringContaining("step 9") },
  });
});

test("the objective is what the settings say, and what they leave out is named", async () => {
  const model = await newModel(client);
  const train = async (groups: object[], config: object) => {
    const { id } = await createRl(client, {
      model_id: model.id,
      trajectory_groups: groups,
      experimental_config: config,
    });
    const events = await eventsOf(service, id);
    const rollouts = [];
    for await (const { skipped } of client.listTrainingJobRollouts({ training_job_id: id })) rollouts.push(skipped);
    return { steps: events.slice(1, -1).map(({ data }) => data), ended: events.at(-1), rollouts };
  };
  const { steps } = await train([group(), group("why?")], {
    learning_rate: 0.01,
    loss_aggregation: "token_mean",
    kl_loss_coef: 0.1,
    num_epochs: 2,
    mini_batch_size: 2,
    learning_rate_schedule: "linear",
  });
  expect(steps.map(({ learning_rate }) => learning_rate)).toEqual([0.01, 0.0075, 0.005, 0.0025]);
  expect(steps[0]).toMatchObject({ kl_loss: 0, entropy: expect.any(Number) });
  expect(steps.at(-1)?.["kl_loss"]).toBeGreaterThan(0);

  const cut = { ...choice("yes"), finish_reason: "length", checkpoint_step: 1 };
  const mixed = [{ trajectories: [trajectory(1, cut), trajectory(0, { ...choice("no"), checkpoint_step: 0 })] }];
  const left = await train(mixed, { mask_truncated_completions: true, max_policy_lag: 0 });
  expect(left.rollouts).toEqual(["truncated", "off_policy"]);
  expect(left.ended).toMatchObject({
    type: "training_ended",
    data: {
      num_untrainable_truncated: 1,
      num_untrainable_off_policy: 1,
      warning: expect.stringContaining("off_policy: 1"),
    },
  });

  const turns = [0, 1].map((reward) => trajectory(1, { ...choice("yes"), reward }));
  const byTurns = await train([{ trajectories: turns }], { turn_rewards: true });
  expect([byTurns.steps.length, byTurns.rollouts]).toEqual([1, [null, null]]);
});

test("unknown and foreign models look the same, and a key that may only read trains nothing", async () => {
  const foreign = await newModel(client, "rival/secret");
  const alice = service.training(await service.key({}));
  const reader = service.training(await service.key({ role: "read" }));
  const missing = "00000000-0000-4000-8000-000000000000";
  const job = await createRl(client, { model_id: foreign.id, trajectory_groups: [] });
  await eventsOf(service, job.id);
  const refusalOf = async (id: string, call: (id: string) => Promise<unknown>) =>
    await call(id).then(
      () => "accepted",
      (error: { status: number; message: string }) => `${error.status} ${error.message.replaceAll(id, "ID")}`,
    );
  const calls = [
    async (id: string) => await createRl(alice, { model_id: id, trajectory_groups: [] }),
    async (id: string) => await first(alice.listModelTrainingJobs({ model_id: id })),
  ];
  for (const call of calls) {
    expect(await refusalOf(foreign.id, call)).toBe(await refusalOf(missing, call));
    expect(await refusalOf(missing, call)).toMatch(/^404 /);
  }
  const ofJob = [
    async (id: string) => await alice.getTrainingJob({ training_job_id: id }),
    async (id: string) => await first(alice.listTrainingJobEvents({ training_job_id: id })),
    async (id: string) => await alice.cancelTrainingJob({ training_job_id: id }),
  ];
  for (const call of ofJob) {
    expect(await refusalOf(job.id, call)).toBe(await refusalOf(missing, call));
    expect(await refusalOf(missing, call)).toMatch(/^404 /);
  }
  const own = await newModel(client, "acme/readers");
  const create = createRl(reader, { model_id: own.id, trajectory_groups: [] });
  await expect(create).rejects.toMatchObject({ status: 403 });
});

test("bodies are read compressed, and wrong ones are refused with the location", async () => {
  const model = await newModel(client);
  const send = async (body: string | Uint8Array, headers: Record<string, string> = {}) => {
    const all = { authorization: `Bearer ${service.owner_key}`, "content-type": "application/json", ...headers };
    const response = await service.fetch("http://in-process/v1/preview/training-jobs", {
      method: "POST",
      body,
      headers: all,
    });
    return [response.status, await response.json()] as const;
  };
  const text = JSON.stringify({ model_id: model.id, trajectory_groups: [group()] });
  const [status, job] = await send(gzipSync(text), { "content-encoding": "gzip" });
  expect([status, (job as { kind: string }).kind]).toEqual([200, "rl"]);
  expect(await send(text.replace('"reward":0', '"reward":"none"'))).toEqual([
    422,
    { detail: [expect.objectContaining({ loc: ["body", "trajectory_groups", 0, "trajectories", 1, "reward"] })] },
  ]);
  expect(await send(text.slice(0, -10))).toEqual([400, { detail: expect.stringContaining("not JSON") }]);
  expect((await send("\u0000".repeat(1000)))[0]).toBe(400);
  expect((await send(""))[0]).toBe(422);
  expect((await send(text, { "content-type": "text/plain" }))[0]).toBe(415);
});
