import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { dataArtifact } from "./data-artifact.js";
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

const prompt = (text: string) => [{ role: "user", content: text }];
const answer = (content: string) => ({ role: "assistant", content });
const pair = (question: string, chosen = "yes", rejected = "no") =>
  JSON.stringify({ prompt: prompt(question), chosen: answer(chosen), rejected: answer(rejected) });
const rating = (question: string, text: string, label: boolean) =>
  JSON.stringify({ prompt: prompt(question), completion: answer(text), label });
const pairs = ["a?", "b?", "c?", "d?"].map((question) => pair(question)).join("\n");
const ratings = ["a?", "b?", "c?", "d?"].map((question, at) => rating(question, "yes", at % 2 === 0)).join("\n");

const train = async (modelId: string, url: string, more: object = {}) =>
  await client.createPreferenceTrainingJob({ model_id: modelId, training_data_url: url, ...more });

async function logprobOf(model: string, text: string): Promise<number> {
  const { prompt_logprobs: logprobs } = await client.createChatCompletion({
    model,
    messages: [...prompt("a?"), answer(text)],
    max_tokens: 1,
    prompt_logprobs: 0,
  });
  const entries = (logprobs ?? []).flatMap((entry) =>
    entry ? Object.values(entry as Record<string, { logprob: number }>) : [],
  );
  return entries.reduce((sum, { logprob }) => sum + logprob, 0);
}

test("pairs make the better answer likelier than the worse one, and continue the steps of the model", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const uri = await dataArtifact(service, projectId, { "preferences.jsonl": pairs });
  const config = { batch_size: 2, num_epochs: 5, learning_rate: 0.001, fancy: 1 };
  const before = (await logprobOf(model.inference_name, "yes")) - (await logprobOf(model.inference_name, "no"));
  const job = await train(model.id, uri, { config });
  expect(job).toMatchObject({ kind: "preference", warnings: [expect.stringContaining("fancy")] });
  const events = await eventsOf(service, job.id);
  expect(events.map(({ type }) => type)).toEqual([
    "training_started",
    ...Array.from({ length: 10 }, () => "gradient_step"),
    "training_ended",
  ]);
  expect(events[0]?.data).toMatchObject({ num_sequences: 10, num_pairs: 4, batch_size: 2 });
  expect(events[1]?.data).toMatchObject({ loss: expect.closeTo(Math.LN2, 5), reward_margin: 0, learning_rate: 0.001 });
  expect(events[10]?.data).toMatchObject({ reward_accuracy: 1 });
  const after = (await logprobOf(model.inference_name, "yes")) - (await logprobOf(model.inference_name, "no"));
  expect(after - before).toBeGreaterThan(1);
  expect(await newestCheckpoint(service, model.id)).toMatchObject({
    step: 1,
    job_id: job.id,
    metrics: { "train/loss": expect.any(Number) },
  });
  expect((await train(model.id, uri, { config })).id).toBe(job.id);
  // The reference of the next job is what this one has made.
  const next = await train(model.id, uri, { config: { ...config, num_epochs: 1 }, force: true });
  const [, first] = await eventsOf(service, next.id);
  expect(first?.data).toMatchObject({ loss: expect.closeTo(Math.LN2, 5), reward_margin: 0 });
  const listed: unknown[] = [];
  for await (const { kind, step } of client.listTrainingJobs({ project_id: projectId })) listed.push([kind, step]);
  expect(listed).toEqual([
    ["preference", 2],
    ["preference", 1],
  ]);
}, 60_000);

test("ratings of single answers train with KTO, which reports the divergence", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const uri = await dataArtifact(service, projectId, { "train.jsonl": ratings });
  const job = await train(model.id, uri, { config: { objective: "kto", batch_size: 4, num_epochs: 2 } });
  const events = await eventsOf(service, job.id);
  expect(events[0]?.data).toMatchObject({ num_ratings: 4, num_desirable: 2, num_undesirable: 2 });
  expect(events[1]?.data).toMatchObject({ loss: expect.closeTo(0.5, 5), kl: 0 });
  expect(events.at(-1)?.type).toBe("training_ended");
}, 60_000);

test("data that cannot be trained end the job with the line and the reason", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const failureOf = async (text: string, config: object = {}) => {
    const uri = await dataArtifact(service, projectId, { "preferences.jsonl": text });
    const { id } = await train(model.id, uri, { config });
    const [failed] = await eventsOf(service, id);
    expect(failed?.type).toBe("training_failed");
    return failed?.data["error_message"];
  };
  const kto = { objective: "kto" };
  expect(await failureOf(`${pairs}\n{"prompt": [`)).toMatch(/^line 5: not valid JSON/);
  expect(await failureOf(`${pairs}\n\n[]`)).toMatch(/^line 6: not a JSON object/);
  expect(await failureOf(`${pairs}\n{"prompt": "why?"}`)).toBe("line 5: prompt must be a list");
  expect(await failureOf(ratings)).toMatch(/^line 1: .*kto/);
  expect(await failureOf(pairs, kto)).toMatch(/^line 1: .*dpo/);
  expect(await failureOf(pair("a?", "same", "same"))).toBe(
    "Nothing can be trained: 1 rows have two equal answers (lines 1).",
  );
  expect(await failureOf([rating("a?", "no", false), rating("b?", "no", false)].join("\n"), kto)).toBe(
    "All 2 ratings that can be trained are undesirable (label false); kto needs some of both kinds.",
  );
  expect(await newestCheckpoint(service, model.id)).toMatchObject({ step: 0 });
}, 60_000);

test("pairs that teach nothing are named by the job and its first event", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const rows = [pairs, pair("e?", "same", "same"), pair("f?", "", "no")].join("\n");
  const uri = await dataArtifact(service, projectId, { "preferences.jsonl": rows });
  const { id } = await train(model.id, uri);
  const events = await eventsOf(service, id);
  const warning = "Not trained: 1 rows have two equal answers (lines 5); 1 rows prefer an empty answer (lines 6).";
  expect(events[0]?.data).toMatchObject({ num_pairs: 4, num_dropped_equal_answers: 1, warning });
  expect(await client.getTrainingJob({ training_job_id: id })).toMatchObject({ warnings: [warning] });
}, 60_000);

test("settings that contradict the objective, and data that are not there, are refused before the job", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const uri = await dataArtifact(service, projectId, { "preferences.jsonl": pairs });
  const refused = async (config: object, name: string) =>
    await expect(train(model.id, uri, { config })).rejects.toMatchObject({
      status: 422,
      body: { detail: [{ loc: ["body", "config", name] }] },
    });
  await refused({ beta: 0 }, "beta");
  await refused({ desirable_weight: 2 }, "desirable_weight");
  await refused({ objective: "kto", batch_size: 1 }, "batch_size");
  await refused({ objective: "kto", label_smoothing: 0.1 }, "label_smoothing");
  await refused({ label_smoothing: 0.5 }, "label_smoothing");
  await expect(train(model.id, `heddle-artifact:///${projectId}/none:v0`)).rejects.toMatchObject({ status: 400 });
  const secret = await dataArtifact(service, "rival/secret", { "preferences.jsonl": pairs });
  const alice = service.training(await service.key({}));
  await expect(
    alice.createPreferenceTrainingJob({ model_id: model.id, training_data_url: secret }),
  ).rejects.toMatchObject({ status: 400 });
});

test("a cancelled job makes no checkpoint", async () => {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const uri = await dataArtifact(service, projectId, { "preferences.jsonl": pairs });
  const { id } = await train(model.id, uri, { config: { batch_size: 1, num_epochs: 100 } });
  const path = { training_job_id: id };
  while ((await client.getTrainingJob(path)).progress.completed === 0) await delay(20);
  expect(await client.cancelTrainingJob(path)).toMatchObject({ status: "CANCELLED", kind: "preference" });
  expect((await eventsOf(service, id)).at(-1)).toMatchObject({ data: { error_type: "cancelled" } });
  expect(await newestCheckpoint(service, model.id)).toMatchObject({ step: 0 });
}, 60_000);
