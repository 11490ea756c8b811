import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { purgeCheckpoints } from "../../src/checkpoints/purge-checkpoints.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { readPage } from "./read-page.js";

interface Checkpoint {
  id: string;
  step: number;
  metrics: Record<string, number>;
}

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

/** A model with checkpoints as if so many jobs had finished. */
async function modelAtStep(steps: number) {
  const projectId = newProject();
  const [entity, project = ""] = projectId.split("/");
  const training = service.training();
  const model = await training.createModel({ entity, project, name: "agent", base_model: "heddle/starter" });
  for (let step = 1; step <= steps; step++) {
    const created = {
      id: randomUUID(),
      job_id: randomUUID(),
      model_id: model.id,
      metrics: { "train/reward": step / 100 },
    };
    const weights = { artifact_version: null, weights_digest: `weights-${step}` };
    await service.services.control.trainingModels.checkpoints.add({ ...created, ...weights });
  }
  const list = async (query: Record<string, string | number> = {}) =>
    await readPage<Checkpoint>(service, `/v1/preview/models/${model.id}/checkpoints`, query);
  return { training, model, model_id: model.id, project_id: projectId, list };
}

describe("the checkpoints of a model", () => {
  test("are read in pages of 20, and backwards from the newest", async () => {
    const { training, list, model } = await modelAtStep(44);
    const steps: number[] = [];
    for await (const { step } of training.listModelCheckpoints({ model_id: model.id })) steps.push(step);
    expect(steps).toEqual(Array.from({ length: 45 }, (_, step) => step));
    const first = await list();
    expect(first.data.map(({ step }) => step)).toEqual(steps.slice(0, 20));
    expect([first.first_id, first.last_id]).toEqual([first.data[0]?.id, first.data.at(-1)?.id]);
    expect(await list({ limit: 100, after: first.last_id })).toMatchObject({ has_more: false });
    const newest = await list({ limit: 1, order: "desc" });
    expect(newest).toMatchObject({
      data: [
        {
          step: 44,
          metrics: { "train/reward": 0.44 },
          untrained: false,
          inference_name: `${model.inference_name}:step44`,
        },
      ],
      has_more: true,
    });
    const next = await list({ limit: 2, order: "desc", after: newest.last_id });
    expect(next.data.map(({ step }) => step)).toEqual([43, 42]);
  });

  test("of an unknown cursor, limit or order are refused", async () => {
    const { list } = await modelAtStep(1);
    const other = await modelAtStep(1);
    const [foreign] = (await other.list()).data;
    for (const after of [randomUUID(), "x", foreign?.id]) {
      const refused = list(after === undefined ? {} : { after });
      await expect(refused).rejects.toMatchObject({ status: 400, body: { detail: expect.stringContaining("after") } });
    }
    for (const limit of [0, 101, -1]) {
      const detail = [{ loc: ["query", "limit"] }];
      await expect(list({ limit })).rejects.toMatchObject({ status: 422, body: { detail } });
    }
    await expect(list({ order: "newest" })).rejects.toMatchObject({
      status: 422,
      body: { detail: [{ loc: ["query", "order"] }] },
    });
  });

  test("are deleted by their steps, while a client pages through them", async () => {
    const { training, model_id, list } = await modelAtStep(4);
    const { data } = await list();
    const deleted = await training.deleteModelCheckpoints({ model_id, steps: [4, 1, 0, 1, 9, -2] });
    expect(deleted).toEqual({ deleted_count: 3, not_found_steps: [9, -2] });
    expect((await list({ limit: 1, after: data[1]?.id ?? "" })).data).toMatchObject([{ step: 2 }]);
    expect((await list({ limit: 1, order: "desc" })).data).toMatchObject([{ step: 3 }]);
    const again = await training.deleteModelCheckpoints({ model_id, steps: [4, 4, 3, 2] });
    expect(again).toEqual({ deleted_count: 2, not_found_steps: [4] });
    expect(await list()).toEqual({ object: "list", data: [], first_id: "", last_id: "", has_more: false });
    const job = { id: randomUUID(), job_id: randomUUID(), model_id, metrics: {} };
    const weights = { artifact_version: null, weights_digest: "weights-5" };
    const added = await service.services.control.trainingModels.checkpoints.add({ ...job, ...weights });
    expect(added.step).toBe(5);
    for (const steps of [["1"], [1.5], null]) {
      const refused = training.deleteModelCheckpoints({ model_id, steps: steps as number[] });
      await expect(refused).rejects.toMatchObject({ status: 422 });
    }
  });

  /** Adds a checkpoint with weights, as a finished job does, and returns the id of its artifact version. */
  async function addTrained({ model_id, project_id }: { model_id: string; project_id: string }): Promise<string> {
    const { artifacts, trainingModels } = service.services.control;
    const content = { sha256: "a".repeat(64), md5: "b".repeat(32), size_bytes: 1 };
    await artifacts.addUpload(project_id, content);
    const files = [{ path: "adapter_config.json", sha256: content.sha256 }];
    const { version } = await artifacts.commit({ project_id, name: "agent", type: "lora", files, created_by: "ann" });
    const weights = { artifact_version: version.id, weights_digest: version.digest };
    await trainingModels.checkpoints.add({ id: randomUUID(), job_id: randomUUID(), model_id, metrics: {}, ...weights });
    return version.id;
  }

  /** A job that no runner of this service takes. */
  async function addWaitingJob({ model_id, project_id }: { model_id: string; project_id: string }): Promise<string> {
    const { job } = await service.services.control.trainingJobs.create({
      id: randomUUID(),
      project_id,
      model_id,
      kind: "rl",
      queue_kind: "never",
      request_digest: randomUUID(),
      config: "{}",
      created_by: "ann",
    });
    return job.id;
  }

  test("lose their artifact versions, but not while a job of the model may need them", async () => {
    const createdModel = await modelAtStep(0);
    const { training, model_id } = createdModel;
    const { artifacts, trainingJobs } = service.services.control;
    const [first, second] = [await addTrained(createdModel), await addTrained(createdModel)];
    await training.deleteModelCheckpoints({ model_id, steps: [1] });
    expect(await artifacts.byId(first)).toBeUndefined();
    const job = await addWaitingJob(createdModel);
    expect(await training.deleteModelCheckpoints({ model_id, steps: [2] })).toMatchObject({ deleted_count: 1 });
    expect(await artifacts.byId(second)).toBeDefined();
    await trainingJobs.fail({ id: job }, { state: "failed", error_message: "for a test", error_type: "test" });
    await purgeCheckpoints(service.services, model_id);
    expect(await artifacts.byId(second)).toBeUndefined();
  });

  test("go with their model, whose jobs fail", async () => {
    const createdModel = await modelAtStep(0);
    const version = await addTrained(createdModel);
    const job = await addWaitingJob(createdModel);
    const deleted = await createdModel.training.deleteModel({ model_id: createdModel.model_id });
    expect(deleted).toMatchObject({ deleted_checkpoints: 2 });
    const { artifacts, jobs, trainingJobs } = service.services.control;
    expect(await artifacts.byId(version)).toBeUndefined();
    expect(await jobs.get(createdModel.project_id, job)).toMatchObject({ state: "cancelled" });
    const events = await trainingJobs.events.page({ job_id: job, limit: 10 });
    expect(events).toMatchObject([{ type: "training_failed", data: expect.stringContaining("the model was deleted") }]);
  });
});

const rollout = (reward: number, metrics: Record<string, number | boolean> = {}) => ({
  messages_and_choices: [{ role: "user", content: "What is a heddle?" }],
  reward,
  metrics,
});

describe("logged trajectories", () => {
  test("become metrics of the newest checkpoint, named for their split", async () => {
    const { training, model_id, list } = await modelAtStep(1);
    const groups = [
      {
        trajectories: [rollout(1, { duration: 2, correct: true }), rollout(0, { duration: 4 })],
        exceptions: [{ type: "TimeoutError", message: "too slow", traceback: "" }],
        metadata: { scenario_id: "heddle", note: null },
        metrics: { difficulty: 3 },
      },
      { trajectories: [rollout(0.5)] },
    ];
    const logged = await training.logModelTrajectories({ model_id, split: "val", trajectory_groups: groups });
    const metrics = {
      "val/reward": 0.5,
      "val/reward_std_dev": 0.5,
      "val/exception_rate": 0.25,
      "val/duration": 3,
      "val/correct": 1,
      "val/group_difficulty": 3,
    };
    expect(logged).toEqual({ step: 1, metrics });
    const { data } = await list();
    expect(data.map((checkpoint) => checkpoint.metrics)).toEqual([{}, { "train/reward": 0.01, ...metrics }]);
    await training.logModelTrajectories({
      model_id,
      split: "val",
      trajectory_groups: [{ trajectories: [rollout(1)] }],
    });
    const [newest] = (await list({ order: "desc" })).data;
    expect(newest?.metrics).toMatchObject({
      ...metrics,
      "val/reward": 1,
      "val/reward_std_dev": 0,
      "val/exception_rate": 0,
    });
  });

  test("are accepted as old and new clients send them", async () => {
    const { model_id } = await modelAtStep(0);
    const choice = {
      finish_reason: "stop",
      index: 0,
      message: { role: "assistant", content: null, refusal: null, tool_calls: null, reasoning: null },
      logprobs: {
        content: [{ token: "token_id:5", bytes: null, logprob: -0.1, top_logprobs: [] }],
        refusal: null,
      },
      stop_reason: null,
      token_ids: [5],
      art_completion_logprobs: [-0.1],
    };
    const body = {
      model_id,
      split: "train",
      trajectory_groups: [
        {
          trajectories: [
            {
              messages_and_choices: [
                { role: "system", content: [{ type: "text", text: "Be brief." }] },
                { role: "tool", content: "4", tool_call_id: "c", name: "add" },
                choice,
              ],
              tools: [
                { name: "add", parameters: {} },
                { type: "function", function: { name: "sub", strict: null } },
              ],
              additional_histories: [{ messages_and_choices: [choice], tools: null }],
              reward: 1,
              initial_policy_version: null,
              auto_metrics: { tokens: 7 },
              metadata: { a: null, b: true },
              start_time: "2026-04-10T09:00:00.123456",
              exchanges: [],
            },
            { reward: null },
          ],
          logs: [],
        },
      ],
    };
    const response = await service.fetch(`http://in-process/v1/preview/models/${model_id}/log`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.owner_key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const metrics = { "train/reward": 0.5, "train/tokens": 7, "train/reward_std_dev": 0.5, "train/exception_rate": 0 };
    expect([response.status, await response.json()]).toEqual([200, { step: 0, metrics }]);
  });

  test("with values that cannot be are refused with their location, and change nothing", async () => {
    const { training, model_id, list } = await modelAtStep(0);
    const log = async (trajectory: object) =>
      await training.logModelTrajectories({
        model_id,
        split: "val",
        trajectory_groups: [{ trajectories: [rollout(1), trajectory] }],
      });
    const at = ["body", "trajectory_groups", 0, "trajectories", 1];
    for (const [field, value, ...deeper] of [
      ["reward", "high"],
      ["metrics", { a: "b" }, "a"],
      ["messages_and_choices", [{}], 0],
    ] as const) {
      const refused = log({ ...rollout(0), [field]: value });
      const loc = expect.arrayContaining([...at, field, ...deeper]);
      await expect(refused).rejects.toMatchObject({
        status: 422,
        body: { detail: expect.arrayContaining([expect.objectContaining({ loc })]) },
      });
    }
    const nothing = training.logModelTrajectories({
      model_id,
      split: "val",
      trajectory_groups: [{ trajectories: [] }],
    });
    await expect(nothing).rejects.toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining("trajectory_groups.0.trajectories") },
    });
    expect((await list()).data).toMatchObject([{ metrics: {} }]);
  });

  test("of a model without any checkpoint have nowhere to go", async () => {
    const { training, model_id } = await modelAtStep(0);
    await training.deleteModelCheckpoints({ model_id, steps: [0] });
    const logged = training.logModelTrajectories({ model_id, split: "val", trajectory_groups: [] });
    await expect(logged).rejects.toMatchObject({ status: 409, body: { detail: "the model has no checkpoint" } });
  });
});
