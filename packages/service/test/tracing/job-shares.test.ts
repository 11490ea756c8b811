import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startChatServer } from "../chat-server.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { createRl, eventsOf, newModel } from "../training/jobs.js";
import { choice, trajectory } from "../training/trajectories.js";
import { writeProviders } from "../upstream.js";
import { weaveObject } from "../weave-object.js";

// Jobs that do not end by themselves while the tests run.

let directory: string;
let chat: Awaited<ReturnType<typeof startChatServer>>;
let service: TestService;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "heddle-shares-"));
  chat = await startChatServer();
  const acme = { baseUrl: `${chat.url}/v1`, allowPrivate: true, kinds: ["chat-completions"], models: ["loom-*"] };
  service = await openTestService({
    HEDDLE_PROVIDERS: writeProviders(directory, { acme }),
    HEDDLE_JOB_SLICE: "1",
    HEDDLE_JOBS_WAITING: "8",
    HEDDLE_EVALUATION_MAX_PREDICTIONS: "300000",
  });
});
afterAll(async () => {
  await service.close();
  await chat.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Publishes an evaluation and a model, and returns a request to run it. */
async function request(project: string, rows: number, trials = 1) {
  const stored = async (objectId: string, val: object, builtin?: string) => {
    const obj = { project_id: project, object_id: objectId, val, builtin_object_class: builtin };
    const { digest } = await service.tracing().objCreate({ obj });
    return `weave:///${project}/object/${objectId}:${digest}`;
  };
  const values = Array.from({ length: rows }, (_, n) => ({ prompt: `slow: ${n}` }));
  const { digest } = await service.tracing().tableCreate({ table: { project_id: project, rows: values } });
  const dataset = await stored("rows", weaveObject("Dataset", { rows: `weave:///${project}/table/${digest}` }));
  const scorers = [await stored("exact", {}, "ExactMatchScorer")];
  const params = { messages_template: [{ role: "user", content: "{prompt}" }] };
  const model = { llm_model_id: "acme/loom-8b", default_params: params };
  return {
    project_id: project,
    evaluation_ref: await stored("weaving", weaveObject("Evaluation", { dataset, scorers, trials })),
    model_ref: await stored("model", model, "LLMStructuredCompletionModel"),
  };
}

const ended = async (project: string, id: string) =>
  await vi.waitFor(
    async () => {
      const { status } = await service.tracing().evaluationStatus({ project_id: project, call_id: id });
      expect(status.code).toMatch(/complete|failed/);
      return status;
    },
    { timeout: 50_000, interval: 50 },
  );

const running = async () => {
  const active = await service.services.control.jobs.active();
  return active.filter(({ state }) => state === "running").reduce((sum, { count }) => sum + count, 0);
};

test("four endless runs of one key hold up neither a run nor a training job of another key", async () => {
  const ann = await service.key({ entity: "acme" });
  const project = newProject();
  const endless = await request(project, 1000, 200);
  const runs: string[] = [];
  for (let n = 0; n < 4; n++) runs.push((await service.tracing(ann).evaluateModel(endless)).call_id);
  await vi.waitFor(async () => expect(await running()).toBe(3), { timeout: 20_000 });

  for (const entity of ["acme", "rival"]) {
    const secret = await service.key({ entity });
    const other = newProject(entity);
    const { call_id: id } = await service.tracing(secret).evaluateModel(await request(other, 2));
    expect(await ended(other, id)).toMatchObject({ code: "complete" });
  }
  const statuses = await Promise.all(
    runs.map(async (id) => (await service.tracing().evaluationStatus({ project_id: project, call_id: id })).status),
  );
  // The one that gave its slot back is still running for whoever looks.
  expect(statuses.map(({ code }) => code)).toEqual(["running", "running", "running", "running"]);

  // Training has slots of its own, and the same turns.
  const trained: string[] = [];
  const body = async (client: ReturnType<TestService["training"]>, steps: number, projectId: string) => ({
    model_id: (await newModel(client, projectId)).id,
    trajectory_groups: [{ trajectories: Array.from({ length: steps }, (_, n) => trajectory(n * n, choice("yes"))) }],
    experimental_config: { packed_sequence_length: 1, learning_rate: 1e-6 },
  });
  const annTraining = service.training(ann);
  for (let n = 0; n < 2; n++) {
    trained.push((await createRl(annTraining, await body(annTraining, 3000, newProject()))).id);
  }
  await vi.waitFor(
    async () =>
      expect(await service.training().getTrainingJob({ training_job_id: trained[0] ?? "" })).toMatchObject({
        status: "RUNNING",
      }),
    { timeout: 20_000 },
  );
  const eve = service.training(await service.key({ entity: "rival" }));
  const short = await createRl(eve, await body(eve, 3, newProject("rival")));
  const events = await eventsOf(service, short.id);
  expect(events.map(({ type }) => type)).toEqual([
    "training_started",
    "gradient_step",
    "gradient_step",
    "gradient_step",
    "training_ended",
  ]);
  const first = await service.training().getTrainingJob({ training_job_id: trained[0] ?? "" });
  expect(first).toMatchObject({ status: "RUNNING" });
  for (const id of trained) await service.training().cancelTrainingJob({ training_job_id: id });
  await service.tracing().callsDelete({ project_id: project, call_ids: runs });
  await vi.waitFor(async () => expect(await service.services.control.jobs.active()).toEqual([]), { timeout: 20_000 });
  expect(service.unexpected).toEqual([]);
}, 120_000);

test("runs that take turns make each prediction once", async () => {
  chat.asked.clear();
  const runs: [string, string][] = [];
  for (let n = 0; n < 7; n++) {
    const secret = await service.key({ entity: `entity-${n}` });
    const own = newProject(`entity-${n}`);
    const { call_id: id } = await service.tracing(secret).evaluateModel(await request(own, 120));
    runs.push([own, id]);
  }
  for (const [own, id] of runs) expect(await ended(own, id)).toMatchObject({ code: "complete" });
  for (let n = 0; n < 120; n++) expect(chat.asked.get(`slow: ${n}`)).toBe(7);
}, 120_000);

test("the jobs of a key end when it is revoked, with the reason", async () => {
  const { key, secret } = await service.services.control.keys.create({
    user_name: "ann",
    entity: "acme",
    role: "write",
  });
  const project = newProject();
  const endless = await request(project, 1000, 200);
  const runs: string[] = [];
  for (let n = 0; n < 5; n++) runs.push((await service.tracing(secret).evaluateModel(endless)).call_id);
  const client = service.training(secret);
  const model = await newModel(client, project);
  const trajectories = Array.from({ length: 3000 }, (_, n) => trajectory(n * n, choice("yes")));
  const config = { packed_sequence_length: 1, learning_rate: 1e-6 };
  const job = await createRl(client, {
    model_id: model.id,
    trajectory_groups: [{ trajectories }],
    experimental_config: config,
  });
  await vi.waitFor(async () => expect(await running()).toBe(4), { timeout: 20_000 });
  await service.services.control.keys.revoke(key.id);
  const reason = "the API key that asked for it was revoked";
  for (const id of runs) expect(await ended(project, id)).toEqual({ code: "failed", error: reason });
  const events = await eventsOf(service, job.id);
  expect(events.at(-1)).toMatchObject({
    type: "training_failed",
    data: { error_message: reason, error_type: "key_revoked" },
  });
  expect(events.filter(({ type }) => type === "training_failed")).toHaveLength(1);
  expect(await service.training().getTrainingJob({ training_job_id: job.id })).toMatchObject({ status: "CANCELLED" });
}, 120_000);

test("more predictions than a run may make, and more jobs than may wait, are refused with the setting", async () => {
  const project = newProject();
  const tooMany = await request(project, 400, 1000);
  await expect(service.tracing().evaluateModel(tooMany)).rejects.toMatchObject({
    status: 413,
    message: expect.stringMatching(/evaluation_ref: .*400 rows × 1000 trials.*HEDDLE_EVALUATION_MAX_PREDICTIONS/),
  });
  const secret = await service.key({ entity: "acme" });
  const endless = await request(project, 1000, 200);
  const runs: string[] = [];
  const submit = async () => {
    for (;;) runs.push((await service.tracing(secret).evaluateModel(endless)).call_id);
  };
  await expect(submit()).rejects.toMatchObject({
    status: 429,
    message: expect.stringContaining("HEDDLE_JOBS_WAITING"),
  });
  expect(runs.length).toBeGreaterThanOrEqual(8);
  await service.tracing().callsDelete({ project_id: project, call_ids: runs });
}, 120_000);
