import type { Sampler, TrainingEngine } from "@heddle/training";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { createRl, eventsOf, newestCheckpoint, newModel } from "./jobs.js";
import { group } from "./trajectories.js";

// Faults of the engine, which tests of the engine show to be possible, as a job meets them.

let service: TestService;
let engine: TrainingEngine;
let original: { openTrainer: TrainingEngine["openTrainer"]; generate: Sampler["generate"] };
beforeAll(async () => {
  service = await openTestService();
  engine = service.services.training;
  original = {
    openTrainer: engine.openTrainer.bind(engine),
    generate: engine.sampler.generate.bind(engine.sampler),
  };
});
afterEach(() => {
  engine.openTrainer = original.openTrainer;
  engine.sampler.generate = original.generate;
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

async function train(modelId: string) {
  const { id } = await createRl(service.training(), {
    model_id: modelId,
    trajectory_groups: [group()],
    experimental_config: { learning_rate: 0.001 },
  });
  const events = await eventsOf(service, id);
  return { last: events.at(-1), job: await service.training().getTrainingJob({ training_job_id: id }) };
}

test("a job that hangs ends with training_failed, and the next job of the model runs", async () => {
  const model = await newModel(service.training());
  engine.openTrainer = () => new Promise(() => {});
  const { config } = service.services;
  const { trainingStallMs } = config;
  config.trainingStallMs = 300;
  const { last, job } = await train(model.id);
  expect(last).toMatchObject({
    type: "training_failed",
    data: { error_message: expect.stringContaining("HEDDLE_TRAINING_STALL"), error_type: "stalled" },
  });
  expect(job).toMatchObject({ status: "FAILED", step: null, checkpoint_id: null });
  expect(await newestCheckpoint(service, model.id)).toMatchObject({ step: 0 });
  engine.openTrainer = original.openTrainer;
  config.trainingStallMs = trainingStallMs;
  expect((await train(model.id)).job).toMatchObject({ status: "COMPLETED", step: 1 });
});

test("weights that are not served as they were trained make no checkpoint, and the step before stays", async () => {
  const model = await newModel(service.training());
  await train(model.id);
  engine.sampler.generate = async (request, options) => {
    const { promptLogprobs, ...result } = await original.generate(request, options);
    const shifted = promptLogprobs?.map((entry) => {
      if (entry === null) return null;
      const [first, ...rest] = entry;
      return [{ ...first, logprob: first.logprob - 0.01 }, ...rest] as typeof entry;
    });
    return { ...result, ...(shifted && { promptLogprobs: shifted }) };
  };
  const { last, job } = await train(model.id);
  expect(last).toMatchObject({
    type: "training_failed",
    data: {
      error_message: expect.stringMatching(/served and trained weights differ by up to 0\.01/),
      error_type: "parity",
    },
  });
  expect(job).toMatchObject({ status: "FAILED", step: null });
  expect(await newestCheckpoint(service, model.id)).toMatchObject({ step: 1 });
  const { checkpoint_step } = await service.training().createChatCompletion({
    model: model.inference_name,
    messages: [{ role: "user", content: "hello" }],
    max_tokens: 1,
  });
  expect(checkpoint_step).toBe(1);
});
