import { fileURLToPath } from "node:url";
import { serverModel, TinkerServer, VllmServer } from "@heddle/remote-engine/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { createRl, eventsOf, newestCheckpoint } from "./jobs.js";
import { group } from "./trajectories.js";

const directory = fileURLToPath(new URL("../../../embedded-engine/models/starter", import.meta.url));
const trainer = new TinkerServer({ vocabulary: 1024 });
const inference = new VllmServer();

const settings = () => ({
  HEDDLE_TRAINER_URL: trainer.url,
  HEDDLE_INFERENCE_URL: inference.url,
  HEDDLE_REMOTE_MODELS: JSON.stringify({
    "remote/tiny": {
      directory,
      trainer: { model: serverModel, gradientScale: "sequence_mean" },
      inference: { model: "tiny" },
    },
  }),
});

let service: TestService;
beforeAll(async () => {
  await Promise.all([trainer.listen(), inference.listen()]);
  inference.vocabulary = 1024;
  inference.script = [[{ id: 301, text: "maybe", logprob: -0.5 }]];
  service = await openTestService(settings());
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
  await Promise.all([trainer.close(), inference.close()]);
});

test("a model is trained on the training server, continued there, and its newest checkpoint served by the other", async () => {
  const client = service.training();
  const [entity = "", project = ""] = newProject().split("/");
  const model = await client.createModel({ entity, project, name: "agent", base_model: "remote/tiny" });
  for (const step of [1, 2]) {
    const job = await createRl(client, {
      model_id: model.id,
      trajectory_groups: [group(), group("why?")],
      experimental_config: { learning_rate: 0.01 },
    });
    const events = await eventsOf(service, job.id);
    expect(events.at(-1)).toMatchObject({ type: "training_ended", data: { step } });
    expect(events[0]?.data).toMatchObject({ ignored_settings: ["max_gradient_norm"] });
    expect(await newestCheckpoint(service, model.id)).toMatchObject({ step, untrained: false });
  }
  const loads = trainer.requests.filter(({ path, body }) => path === "load_weights" && "model_id" in body);
  expect(loads.map(({ body: { optimizer } }) => optimizer)).toEqual([true]);
  // Both jobs have closed their trainers; the server keeps one state per checkpoint and no archive.
  expect(trainer.models.size).toBe(0);
  expect([...trainer.saved.keys()].map((path) => path.split("/")[3])).toEqual(["weights", "weights"]);
  expect([...trainer.saved.values()].map(({ steps }) => steps)).toEqual([1, 2]);

  const messages = [{ role: "user" as const, content: "yes or no?" }];
  const completion = await client.createChatCompletion({ model: model.inference_name, messages });
  expect(completion).toMatchObject({ choices: [{ message: { content: "maybe" } }] });
  const asked = inference.sent("/v1/completions").map(({ model: name }) => name);
  expect(new Set(asked).size).toBe(2);
  expect(inference.adapters.has(String(asked.at(-1)))).toBe(true);
});

test("an inference server without the file system of the service fetches adapters by signed addresses", async () => {
  const apart = await openTestService({ ...settings(), HEDDLE_INFERENCE_ADAPTERS: "http://heddle:4680/" });
  try {
    const client = apart.training();
    const [entity = "", project = ""] = newProject().split("/");
    const model = await client.createModel({ entity, project, name: "agent", base_model: "remote/tiny" });
    const train = async () => {
      const job = { model_id: model.id, trajectory_groups: [group()], experimental_config: { learning_rate: 0.02 } };
      return (await eventsOf(apart, (await createRl(client, job)).id)).at(-1);
    };
    // The server has another HF_ENDPOINT.
    expect(await train()).toMatchObject({
      type: "training_failed",
      data: { error_message: expect.stringContaining("its HF_ENDPOINT must be http://heddle:4680/v1/adapters") },
    });
    const fetched: string[] = [];
    const statuses: number[] = [];
    const ask = async (path: string) => {
      const response = await apart.fetch(`http://in-process/v1/adapters${path}`);
      statuses.push(response.status);
      return response;
    };
    inference.hub = async (path) => {
      fetched.push(path);
      return await ask(path);
    };
    expect(await train()).toMatchObject({ type: "training_ended" });
    expect(statuses).toEqual([200, 200, 200]);
    const repository = String(inference.sent("/v1/load_lora_adapter").at(-1)?.["lora_path"]);
    expect(fetched.every((path) => path.includes(repository))).toBe(true);
    expect(
      await client.createChatCompletion({ model: model.inference_name, messages: [{ role: "user", content: "?" }] }),
    ).toMatchObject({
      choices: [{ message: { content: "maybe" } }],
    });
    const tree = (await (await ask(`/api/models/${repository}/tree/main?recursive=true`)).json()) as {
      path: string;
      size: number;
    }[];
    expect(tree.map(({ path }) => path)).toEqual(["adapter_config.json", "adapter_model.safetensors"]);
    const at = { entity, project, name: "agent", version: "step1" };
    const { files } = await client.listArtifactFiles(at);
    expect(tree.map(({ size }) => size)).toEqual(
      tree.map(({ path }) => files.find((file) => file.path === path)?.size_bytes),
    );
    statuses.length = 0;
    await ask(`/${repository}/resolve/main/training_state.json`);
    await ask(`/${repository}/resolve/main/..%2Fadapter_config.json`);
    await ask(`/${repository.slice(1)}/resolve/main/adapter_config.json`);
    await ask(`/${repository}x/resolve/main/adapter_config.json`);
    await ask(`/api/datasets/${repository}`);
    expect(statuses).toEqual([404, 404, 403, 403, 404]);
  } finally {
    inference.hub = undefined;
    expect(apart.unexpected).toEqual([]);
    await apart.close();
  }
});

test("other models stay with the embedded engine", async () => {
  const { data } = await service.training().listBaseModels();
  const known = Object.fromEntries(data.map(({ id, full_fine_tuning }) => [id, full_fine_tuning]));
  expect(known).toMatchObject({ "remote/tiny": false, "heddle/starter": true });
});
