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

let service: TestService;
beforeAll(async () => {
  await Promise.all([trainer.listen(), inference.listen()]);
  inference.vocabulary = 1024;
  inference.script = [[{ id: 301, text: "maybe", logprob: -0.5 }]];
  const models = {
    "remote/tiny": {
      directory,
      trainer: { model: serverModel, gradientScale: "sequence_mean" },
      inference: { model: "tiny" },
    },
  };
  service = await openTestService({
    HEDDLE_TRAINER_URL: trainer.url,
    HEDDLE_INFERENCE_URL: inference.url,
    HEDDLE_REMOTE_MODELS: JSON.stringify(models),
  });
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

test("other models stay with the embedded engine", async () => {
  const { data } = await service.training().listBaseModels();
  const known = Object.fromEntries(data.map(({ id, full_fine_tuning }) => [id, full_fine_tuning]));
  expect(known).toMatchObject({ "remote/tiny": false, "heddle/starter": true });
});
