import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
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

const completions = { filter: { op_names: ["heddle.chat.completions"] } };
const quality = { feedback_type: "quality", path: "value" };

/** A model, and completions of it that the service has recorded: as many of each question as asked for. */
async function sampled(questions: Record<string, number>) {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const tracing = service.tracing();
  for (const [question, count] of Object.entries(questions)) {
    for (let n = 0; n < count; n++) {
      const messages = [{ role: "user" as const, content: question }];
      await client.createChatCompletion({ model: model.inference_name, messages, max_tokens: 4, seed: n });
    }
  }
  const total = Object.values(questions).reduce((sum, count) => sum + count, 0);
  const calls = await vi.waitFor(async () => {
    const found = await tracing.callsQuery({ project_id: projectId, ...completions });
    expect(found.calls).toHaveLength(total);
    return found.calls;
  }, 10_000);
  const rate = async (callId: string, value: unknown, more: object = {}) =>
    await tracing.feedbackCreate({
      project_id: projectId,
      weave_ref: `weave:///${projectId}/call/${callId}`,
      feedback_type: "quality",
      payload: { value },
      ...more,
    });
  const linksOf = async () => {
    const query = { $expr: { $eq: [{ $getField: "feedback_type" }, { $literal: "heddle.training_job" }] } };
    return (await tracing.feedbackQuery({ project_id: projectId, query })).result;
  };
  return { project_id: projectId, model, model_id: model.id, tracing, ids: calls.map(({ id }) => id), rate, linksOf };
}

/** A call as an SDK of another program records it, of a model that is not of this service. */
async function record(
  projectId: string,
  id: string,
  inputs: Record<string, unknown>,
  end: { output?: unknown; exception?: string },
) {
  const tracing = service.tracing();
  const startedAt = "2026-04-10T09:00:00Z";
  const start = {
    project_id: projectId,
    id,
    trace_id: id,
    op_name: "chat",
    started_at: startedAt,
    attributes: {},
    inputs,
  };
  await tracing.callStart({ start });
  const endedAt = "2026-04-10T09:00:01Z";
  await tracing.callEnd({ end: { project_id: projectId, id, ended_at: endedAt, summary: {}, output: null, ...end } });
}

const choiceOf = (content: string) => ({ finish_reason: "stop", index: 0, message: { role: "assistant", content } });

describe("an RL job of calls", () => {
  test("is trained on rated completions, and job and calls name each other", async () => {
    const { project_id, model, model_id, tracing, ids, rate, linksOf } = await sampled({ "Is it open?": 3, "Why?": 2 });
    for (const [at, id] of ids.slice(0, 4).entries()) await rate(id, at % 2 === 0);
    const created = await client.createRlTrainingJobFromCalls({
      model_id,
      calls: { ...completions, sort_by: [{ field: "started_at", direction: "asc" }] },
      reward: quality,
      experimental_config: { learning_rate: 0.001 },
    });
    expect(created).toMatchObject({
      job: { model_id, kind: "rl", warnings: [] },
      num_calls: 4,
      num_groups: 2,
      artifact: null,
      skipped: [{ reason: "no_reward", count: 1, example: ids[4] }],
    });
    expect(created.job.call_ids?.toSorted()).toEqual(ids.slice(0, 4).toSorted());
    const events = await eventsOf(service, created.job.id);
    expect(events[0]).toMatchObject({ type: "training_started", data: { num_trajectories: 4 } });
    expect(events.at(-1)).toMatchObject({ type: "training_ended", data: { step: 1 } });
    const checkpoint = await newestCheckpoint(service, model_id);
    expect(checkpoint).toMatchObject({ step: 1, untrained: false, metrics: { "train/reward": 0.5 } });

    const about = { job_id: created.job.id, model_id, model: model.name, kind: "rl" };
    const links = (await linksOf()).map(({ weave_ref, payload }) => [weave_ref, payload]);
    expect(new Map(links as [string, unknown][])).toEqual(
      new Map(
        ids
          .slice(0, 4)
          .map((id, at) => [`weave:///${project_id}/call/${id}`, { ...about, reward: at % 2 === 0 ? 1 : 0 }]),
      ),
    );
    const field = "feedback.[heddle.training_job].payload.job_id";
    const foundBy = async (jobId: string) => {
      const query = { $expr: { $eq: [{ $getField: field }, { $literal: jobId }] } };
      return (await tracing.callsQuery({ project_id, query })).calls.map(({ id }) => id).toSorted();
    };
    expect(await foundBy(created.job.id)).toEqual(ids.slice(0, 4).toSorted());
    // A second job of the same calls is found by them, too.
    const second = await client.createRlTrainingJobFromCalls({ model_id, calls: completions, reward: quality });
    expect(second.job.id).not.toBe(created.job.id);
    expect(await foundBy(second.job.id)).toEqual(ids.slice(0, 4).toSorted());
    await client.cancelTrainingJob({ training_job_id: second.job.id });
  });

  test("compares the calls that are equal at a path of the caller's choice, by the mean of several ratings", async () => {
    const { model_id, ids, rate, linksOf } = await sampled({ "Is it open?": 1, "Why?": 1 });
    await rate(ids[0] ?? "", 1);
    await rate(ids[0] ?? "", 2);
    await rate(ids[0] ?? "", "not a number");
    await rate(ids[1] ?? "", 0);
    const request = { model_id, calls: completions, reward: quality, group_by: "attributes.heddle.checkpoint_step" };
    const created = await client.createRlTrainingJobFromCalls(request);
    expect(created).toMatchObject({ num_calls: 2, num_groups: 1, skipped: [] });
    const rewards = (await linksOf()).map(({ payload }) => (payload as { reward: number }).reward);
    expect(rewards.toSorted((a, b) => a - b)).toEqual([0, 1.5]);
    // The same request again while the job waits or runs, or a new job if it has ended: either way no call is linked twice.
    const again = await client.createRlTrainingJobFromCalls(request);
    const jobs = new Set([created.job.id, again.job.id]);
    expect(await linksOf()).toHaveLength(2 * jobs.size);
    for (const id of jobs) await client.cancelTrainingJob({ training_job_id: id });
  });

  test("leaves out what cannot be trained, and says why", async () => {
    const { project_id, model_id, ids, rate } = await sampled({ "Why?": 2 });
    for (const [at, id] of ids.entries()) await rate(id, at);
    const inputs = { messages: [{ role: "user", content: "Why?" }] };
    await record(project_id, "failed", inputs, { exception: "no memory" });
    await record(project_id, "no-messages", { question: "Why?" }, { output: { choices: [choiceOf("a")] } });
    await record(project_id, "no-choice", inputs, { output: "because" });
    await record(project_id, "several", inputs, { output: { choices: [choiceOf("a"), choiceOf("b")] } });
    await record(project_id, "no-logprobs", inputs, { output: { choices: [choiceOf("a")] } });
    const startedAt = "2026-04-10T09:00:00Z";
    const start = {
      project_id,
      id: "running",
      trace_id: "t",
      op_name: "chat",
      started_at: startedAt,
      attributes: {},
      inputs,
    };
    await service.tracing().callStart({ start });
    const created = await client.createRlTrainingJobFromCalls({ model_id, calls: {}, reward: quality });
    expect(created.num_calls).toBe(2);
    expect(created.skipped.toSorted((a, b) => (a.reason < b.reason ? -1 : 1))).toEqual(
      ["failed", "no_choice", "no_logprobs", "no_messages", "running", "several_choices"].map((reason) => ({
        reason,
        count: 1,
        example: reason === "several_choices" ? "several" : reason.replace("_", "-"),
      })),
    );
    await client.cancelTrainingJob({ training_job_id: created.job.id });
  });

  test("of calls that cannot be used, or of settings that cannot be, is not created", async () => {
    const { model_id, ids } = await sampled({ "Why?": 1 });
    const request = { model_id, calls: completions, reward: quality };
    const refused = async (change: object, path: string, msg: unknown = expect.any(String)) => {
      const created = client.createRlTrainingJobFromCalls({ ...request, ...change });
      const error: unknown = await created.catch((reason: unknown) => reason);
      expect(error).toMatchObject({ status: 422, body: { detail: [{ loc: expect.any(Array), msg }] } });
      const { detail } = (error as { body: { detail: { loc: string[] }[] } }).body;
      expect(detail[0]?.loc.join(".")).toBe(`body.${path}`);
    };
    const none = `none of the calls can be used; no_reward: 1 (such as ${ids[0] ?? ""})`;
    await refused({}, "calls", none);
    await refused({ calls: { filter: { op_names: ["other"] } } }, "calls", "there are no such calls");
    await refused({ group_by: "nonsense.a" }, "group_by", expect.stringContaining("nonsense.a"));
    await refused({ experimental_config: { ppo: true, loss_fn: "cispo" } }, "experimental_config.loss_fn");
    await refused({ calls: { limit: 10_001 } }, "calls.limit");
    await refused({ reward: { feedback_type: "quality" } }, "reward.path");
    const query = { $expr: { $eq: [{ $getField: "nonsense" }, { $literal: 1 }] } };
    const operand = "calls.query.$expr.$eq.0.$getField";
    await refused({ calls: { query } }, operand, expect.stringContaining("nonsense"));
    const listed = [];
    for await (const job of client.listModelTrainingJobs({ model_id })) listed.push(job);
    expect(listed).toEqual([]);
  });

  test("never reads calls of another project", async () => {
    const theirs = await sampled({ "Why?": 1 });
    await theirs.rate(theirs.ids[0] ?? "", 1);
    const mine = await newModel(client);
    const calls = { filter: { call_ids: theirs.ids } };
    const created = client.createRlTrainingJobFromCalls({ model_id: mine.id, calls, reward: quality });
    await expect(created).rejects.toMatchObject({
      status: 422,
      body: { detail: [{ msg: "there are no such calls" }] },
    });
    const foreign = service.training(await service.key({ projects: ["other"] }));
    const request = { model_id: theirs.model_id, calls: completions, reward: quality };
    await expect(foreign.createRlTrainingJobFromCalls(request)).rejects.toMatchObject({ status: 404 });
  });
});

describe("an SFT job of calls", () => {
  test("is trained on a data set of the good ones, of whatever model", async () => {
    const { project_id, model, model_id, rate, linksOf } = await sampled({});
    const ask = (content: string) => ({ messages: [{ role: "user", content }], tools: null });
    await record(project_id, "good", ask("Is it\nopen?"), { output: { choices: [choiceOf("yes")] } });
    await record(project_id, "bad", ask("Why?"), { output: { choices: [choiceOf("no")] } });
    await record(project_id, "unrated", ask("Why?"), { output: { choices: [choiceOf("no")] } });
    await rate("good", 0.9);
    await rate("bad", 0.1);
    const request = { model_id, calls: {}, reward: quality, min_reward: 0.5, config: { learning_rate: 0.001 } };
    const created = await client.createSftTrainingJobFromCalls(request);
    expect(created).toMatchObject({
      job: { kind: "sft", call_ids: ["good"] },
      num_calls: 1,
      num_groups: null,
      artifact: `heddle-artifact:///${project_id}/agent-calls:v0`,
    });
    expect(created.skipped.map(({ reason, count }) => `${reason} ${count}`).toSorted()).toEqual([
      "low_reward 1",
      "no_reward 1",
    ]);
    const events = await eventsOf(service, created.job.id);
    expect(events.at(-1)).toMatchObject({ type: "training_ended", data: { step: 1 } });
    const version = await service.services.control.artifacts.get(project_id, "agent-calls", "v0");
    expect(version).toMatchObject({ type: "dataset", file_count: 1 });
    const about = { job_id: created.job.id, model_id, model: model.name, kind: "sft", reward: 0.9 };
    expect(await linksOf()).toMatchObject([{ weave_ref: `weave:///${project_id}/call/good`, payload: about }]);
    // The same examples make no second version, and no second job.
    const again = await client.createSftTrainingJobFromCalls(request);
    expect([again.artifact, again.job.id]).toEqual([created.artifact, created.job.id]);
    expect(await linksOf()).toHaveLength(1);
  });

  test("needs a reward for a minimum, and a name that is free for data", async () => {
    const { project_id, model_id } = await sampled({});
    const ask = { messages: [{ role: "user", content: "Why?" }] };
    await record(project_id, "call", ask, { output: { choices: [choiceOf("so")] } });
    const noReward = client.createSftTrainingJobFromCalls({ model_id, calls: {}, min_reward: 1 });
    await expect(noReward).rejects.toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "reward"] }] } });
    for (const name of ["../x", "a/b", "a:b"]) {
      const refused = client.createSftTrainingJobFromCalls({ model_id, calls: {}, artifact_name: name });
      const detail = [{ loc: ["body", "artifact_name"] }];
      await expect(refused).rejects.toMatchObject({ status: 422, body: { detail } });
    }
    const created = await client.createSftTrainingJobFromCalls({ model_id, calls: {}, artifact_name: "examples" });
    await eventsOf(service, created.job.id);
    // The checkpoint that it has made is an artifact with the name of the model.
    const taken = client.createSftTrainingJobFromCalls({ model_id, calls: {}, artifact_name: "agent" });
    await expect(taken).rejects.toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("body.artifact_name: the artifact agent has the type lora") },
    });
  });
});

describe("a preview", () => {
  test("says what the job of the same request is trained on, and starts nothing", async () => {
    const { project_id, model_id, ids, rate, linksOf } = await sampled({ "Is it open?": 3, "Why?": 2 });
    for (const [at, id] of ids.slice(0, 4).entries()) await rate(id, at % 2 === 0);
    const request = {
      model_id,
      calls: { ...completions, sort_by: [{ field: "started_at", direction: "asc" as const }] },
      reward: quality,
      experimental_config: { fancy_mode: true },
    };
    const reader = service.training(await service.key({ role: "read" }));
    const preview = await reader.previewRlTrainingJobFromCalls(request);
    expect(await linksOf()).toEqual([]);
    const jobs: string[] = [];
    for await (const { id } of client.listTrainingJobs({ project_id })) jobs.push(id);
    expect(jobs).toEqual([]);

    const { job, ...made } = await client.createRlTrainingJobFromCalls(request);
    await eventsOf(service, job.id);
    expect(preview).toMatchObject({
      num_calls: made.num_calls,
      num_groups: made.num_groups,
      skipped: made.skipped,
      warnings: job.warnings,
      error_message: null,
    });
    expect(preview.groups.map((group) => group.num_calls)).toEqual([3, 1]);
    expect(preview.groups[0]?.key).toContain("Is it open?");
    const rollouts: object[] = [];
    for await (const each of client.listTrainingJobRollouts({ training_job_id: job.id, limit: 100 })) {
      const { reward, advantage, tokens, trained_tokens, skipped, call_ids } = each;
      rollouts.push({ id: call_ids[0], reward, advantage, tokens, trained_tokens, skipped });
    }
    expect(preview.groups.flatMap(({ calls }) => calls)).toEqual(rollouts);
  });

  test("has the reasons where nothing can be trained, and why the job would fail", async () => {
    const { project_id, model_id, ids, rate } = await sampled({ "Is it open?": 2 });
    const request = { model_id, calls: completions, reward: quality };
    expect(await client.previewRlTrainingJobFromCalls(request)).toMatchObject({
      num_calls: 0,
      groups: [],
      skipped: [{ reason: "no_reward", count: 2 }],
    });
    for (const [at, id] of ids.entries()) await rate(id, at);
    const sft = await client.previewSftTrainingJobFromCalls({ ...request, min_reward: 1 });
    expect(sft).toMatchObject({
      num_calls: 1,
      num_groups: null,
      groups: [{ key: null, num_calls: 1, calls: [{ reward: 1, advantage: null, skipped: null }] }],
      skipped: [{ reason: "low_reward", count: 1 }],
      error_message: null,
    });
    expect(sft.groups[0]?.calls[0]?.trained_tokens).toBeGreaterThan(0);
    const config = { validation_fraction: 0.5 };
    const evaluating = await client.previewSftTrainingJobFromCalls({ model_id, calls: completions, config });
    expect(evaluating).toMatchObject({ num_calls: 1, groups: [{ num_calls: 2 }], error_message: null });
    const byReason = new Map(evaluating.groups[0]?.calls.map((call) => [call.skipped, call.trained_tokens]));
    expect(byReason.get("held_out")).toBe(0);
    expect(byReason.get(null)).toBeGreaterThan(0);
    // That of the model alone.
    const { collections } = await service.services.control.artifacts.pageCollections({ project_id, limit: 9 });
    expect(collections.map(({ type }) => type)).toEqual(["lora"]);
    const wrong = client.previewRlTrainingJobFromCalls({ ...request, group_by: "nowhere" });
    await expect(wrong).rejects.toMatchObject({ status: 422 });
    const foreign = service.training(await service.key({ entity: "rival" }));
    await expect(foreign.previewRlTrainingJobFromCalls(request)).rejects.toMatchObject({ status: 404 });
  });
});
