import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { dataArtifact } from "./data-artifact.js";
import type { ArtifactOptions } from "./data-artifact.js";
import { eventsOf, newestCheckpoint, newModel } from "./jobs.js";
import type { TrainingClient } from "./jobs.js";

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

const row = (answer: string) =>
  JSON.stringify({
    messages: [
      { role: "user", content: "yes or no?" },
      { role: "assistant", content: answer },
    ],
  });

const artifact = async (...[projectId, ...rest]: [string, Record<string, string>, ArtifactOptions?]) =>
  await dataArtifact(service, projectId, ...rest);

const train = async (modelId: string, url: string, more: object = {}) =>
  await client.createSftTrainingJob({ model_id: modelId, training_data_url: url, ...more });

test("examples are trained in batches, in the order of the file, and continue the steps of the model", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const text = `${row("yes")}\n\n${row("no")}\n${row("yes")}\n`;
  const uri = await artifact(
    projectId,
    { "train.jsonl": text },
    { metadata: { format: "jsonl", num_trajectories: 3 } },
  );
  const config = { batch_size: 2, learning_rate: [0.001, 0.0005], assistant_turns: "last" as const, fancy: 1 };
  const job = await train(model.id, uri, { config, experimental_config: { new_option: true } });
  expect(job).toMatchObject({
    kind: "sft",
    warnings: [expect.stringContaining("fancy"), expect.stringContaining("new_option")],
  });
  const events = await eventsOf(service, job.id);
  expect(events.map(({ type }) => type)).toEqual([
    "training_started",
    "gradient_step",
    "gradient_step",
    "training_ended",
  ]);
  expect(events[0]?.data).toMatchObject({ num_sequences: 2, batch_size: 2, num_trajectories: 3 });
  expect(events.slice(1, 3).map(({ data }) => data["learning_rate"])).toEqual([0.001, 0.0005]);
  expect(await newestCheckpoint(service, model.id)).toMatchObject({
    step: 1,
    untrained: false,
    metrics: { "train/loss": expect.any(Number) },
  });

  expect((await train(model.id, uri, { config, experimental_config: { new_option: true } })).id).toBe(job.id);
  const forced = await train(model.id, uri.replace("heddle-artifact:///", "wandb-artifact://"), {
    config,
    force: true,
  });
  expect(forced.id).not.toBe(job.id);
  await eventsOf(service, forced.id);
  expect(await newestCheckpoint(service, model.id)).toMatchObject({ step: 2, job_id: forced.id });
}, 60_000);

test("data that cannot be trained end the job with the line and the reason", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const failureOf = async (text: string, more: { config?: object; metadata?: object } = {}) => {
    const uri = await artifact(projectId, { "train.jsonl": text }, { metadata: more.metadata ?? {} });
    const { id } = await train(model.id, uri, { config: more.config ?? {} });
    const [failed] = await eventsOf(service, id);
    expect(failed?.type).toBe("training_failed");
    return failed?.data["error_message"];
  };
  expect(await failureOf(`${row("yes")}\n{"messages": [`)).toMatch(/^line 2: not valid JSON/);
  expect(await failureOf(`${row("yes")}\n\n{"messages": [{"role": "user", "content": "why?"}]}`)).toMatch(
    /^line 3: .*assistant/,
  );
  expect(await failureOf("\n")).toContain("no rows");
  expect(await failureOf(row("yes"), { metadata: { num_trajectories: 2 } })).toContain("num_trajectories");
  expect(await failureOf(row("no"), { config: { learning_rate: [0.1, 0.2] } })).toContain("has 2 values");
  const untrained = (text: string) => text.replace('"role":"assistant"', '"role":"assistant","weight":0');
  expect(await failureOf(`${untrained(row("yes"))}\n${untrained(row("no"))}`)).toBe(
    "Nothing can be trained: 2 rows have no trained token (lines 1, 2).",
  );
  expect(await failureOf(row("yes").replace('"messages"', '"loss_mask":[0,0,1],"messages"'))).toMatch(
    /^line 1: loss_mask needs an entry for each of the 2 messages/,
  );
  expect(await newestCheckpoint(service, model.id)).toMatchObject({ step: 0 });
}, 60_000);

test("rows whose turns say that they are not trained are named by the job and its first event", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const untrained = row("yes").replace('"role":"assistant"', '"role":"assistant","weight":0');
  const uri = await artifact(projectId, { "train.jsonl": `${row("no")}\n${untrained}\n${row("yes")}` });
  const { id } = await train(model.id, uri, { config: { fancy: true } });
  const events = await eventsOf(service, id);
  expect(events.at(-1)?.type).toBe("training_ended");
  const warning = "Not trained: 1 rows have no trained token (lines 2).";
  expect(events[0]?.data).toMatchObject({ num_trajectories: 3, num_untrained_trajectories: 1, warning });
  const { warnings } = await client.getTrainingJob({ training_job_id: id });
  expect(warnings).toEqual([expect.stringContaining("fancy"), warning]);
}, 60_000);

test("rows of another file are evaluated, and the loss is with the events and the checkpoint", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const files = { "train.jsonl": `${row("yes")}\n`.repeat(4), "validation.jsonl": row("no") };
  const uri = await artifact(projectId, files, { metadata: { num_trajectories: 4 } });
  const config = { batch_size: 1, validation_data_url: uri, eval_steps: 2, learning_rate: 0.001 };
  const { id } = await train(model.id, uri, { config });
  const events = await eventsOf(service, id);
  expect(events[0]?.data).toMatchObject({ num_trajectories: 4, num_validation_trajectories: 1 });
  const losses = events.slice(1, 5).map(({ data }) => data["val/loss"]);
  expect(losses).toEqual([undefined, expect.any(Number), undefined, expect.any(Number)]);
  expect(events.at(-1)?.data).toMatchObject({ "val/loss": losses[3], "val/best_gradient_step": expect.any(Number) });
  expect(await newestCheckpoint(service, model.id)).toMatchObject({
    metrics: { "train/loss": expect.any(Number), "val/loss": losses[3], "val/best_loss": expect.any(Number) },
  });
  // Other rows to evaluate are another job.
  const other = await artifact(projectId, { "validation.jsonl": row("perhaps") }, { name: "others" });
  expect((await train(model.id, uri, { config })).id).toBe(id);
  const again = await train(model.id, uri, { config: { ...config, validation_data_url: other } });
  expect(again.id).not.toBe(id);
  await eventsOf(service, again.id);
}, 60_000);

test("rows to evaluate that are not there, foreign or nonsense are refused before the job", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const uri = await artifact(projectId, { "train.jsonl": row("yes") });
  const secret = await artifact("rival/secret", { "train.jsonl": row("yes") });
  const alice = service.training(await service.key({}));
  const refusalOf = async (config: Record<string, unknown>, as = client) => {
    const request = { model_id: model.id, training_data_url: uri, config };
    return await as.createSftTrainingJob(request).then(
      () => undefined,
      ({ status, message }: { status: number; message: string }) => ({ status, message }),
    );
  };
  for (const url of [secret, `heddle-artifact:///${projectId}/none:v0`])
    expect(await refusalOf({ validation_data_url: url }, alice)).toMatchObject({
      status: 400,
      message: expect.stringContaining("validation_data_url"),
    });
  expect(await refusalOf({ validation_data_url: "/etc/passwd" })).toMatchObject({ status: 422 });
  expect(await refusalOf({ validation_fraction: 0.95 })).toMatchObject({ status: 422 });
  expect(await refusalOf({ early_stopping_patience: 2 })).toMatchObject({
    status: 422,
    message: expect.stringContaining("early_stopping_patience needs rows to evaluate"),
  });
});

test("an artifact that is not there, foreign or without one file of examples is refused before the job", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const secret = await artifact("rival/secret", { "train.jsonl": row("yes") });
  const statusOf = async (url: string | undefined, key?: string) =>
    await service
      .training(key)
      .createSftTrainingJob({ model_id: model.id, ...(url !== undefined && { training_data_url: url }) })
      .then(
        () => 200,
        (error: { status: number }) => error.status,
      );
  const alice = await service.key({});
  expect(await statusOf(`heddle-artifact:///${projectId}/none:v0`)).toBe(400);
  expect(await statusOf(secret, alice)).toBe(400);
  for (const url of ["", "file:///etc/passwd", "/etc/passwd", "../../etc/passwd", "https://example.com/a:v0"]) {
    expect([url, await statusOf(url)]).toEqual([url, 422]);
  }
  for (const url of [`heddle-artifact:///${projectId}/../../x:v0`, `heddle-artifact:///${projectId}/x%2f..:v0`]) {
    expect(await statusOf(url)).toBeGreaterThanOrEqual(400);
  }
  expect(await statusOf(undefined)).toBe(422);
  const two = await artifact(projectId, { "a.jsonl": row("a"), "b.jsonl": row("b") }, { name: "two" });
  const none = await artifact(projectId, { "a.json": row("a") }, { name: "none-of-them" });
  expect([await statusOf(two), await statusOf(none)]).toEqual([400, 400]);
  const settings = { model_id: model.id, training_data_url: two, config: { batch_size: 0 } };
  await expect(client.createSftTrainingJob(settings)).rejects.toMatchObject({ status: 422 });
});

test("a file whose rows would take more memory than one job has fails the job, and the service goes on", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const values = `{"messages":[${"{},".repeat(1_000_000)}{}]}\n`;
  const uri = await artifact(projectId, { "train.jsonl": values.repeat(5) });
  const { id } = await train(model.id, uri);
  await eventsOf(service, id);
  expect(await client.getTrainingJob({ training_job_id: id })).toMatchObject({
    status: "FAILED",
    error_message: expect.stringContaining("at most 256000000 bytes of memory (twice HEDDLE_WORKING_MEMORY)"),
  });
});
