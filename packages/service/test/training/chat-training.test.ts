import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { createRl, eventsOf, newModel } from "./jobs.js";
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

const messages = [{ role: "user" as const, content: "yes or no?" }];

test("choices of the OpenAI client train the model as they are, and its names then mean the new weights", async () => {
  const model = await newModel(client);
  const name = `wandb-artifact:///${model.entity}/${model.project}/${model.name}`;
  const openai = new OpenAI({ baseURL: `${await service.listen()}/v1`, apiKey: service.owner_key });
  const ask = { model: name, messages, n: 4, max_completion_tokens: 6, seed: 1 };
  const before = await openai.chat.completions.create(ask);
  // As clients dump them: with nulls, and with members that the API does not have.
  const trajectories = before.choices.map((choice, index) => ({
    messages_and_choices: [...messages, { ...choice, unknown: null }],
    reward: index % 2,
  }));
  const job = await createRl(client, {
    model_id: model.id,
    trajectory_groups: [{ trajectories }],
    experimental_config: { learning_rate: 0.01 },
  });
  const events = await eventsOf(service, job.id);
  expect(events.map(({ type }) => type)).toContain("gradient_step");
  expect(events.at(-1)).toMatchObject({ type: "training_ended", data: { step: 1 } });

  // Rollouts name the completion that they came from.
  const named = before.choices.map((choice) => (choice as { call_id?: string }).call_id);
  expect(named).toEqual(Array.from({ length: 4 }, () => expect.stringMatching(/^[0-9a-f-]{36}$/)));
  const rollouts = [];
  for await (const each of client.listTrainingJobRollouts({ training_job_id: job.id })) rollouts.push(each.call_ids);
  expect(rollouts).toEqual(named.map((id) => [id]));
  const at = { project_id: `${model.entity}/${model.project}`, id: named[0] ?? "" };
  await expect
    .poll(async () => (await service.tracing().callRead(at)).call?.op_name)
    .toContain("heddle.chat.completions");

  const sampled = async (named: string) =>
    await client.createChatCompletion({ ...ask, model: named, stream: false, logprobs: true });
  const firstLogprob = ({ choices }: Awaited<ReturnType<typeof sampled>>) => choices[0]?.logprobs?.content[0];
  const [newest, first, untrained] = await Promise.all([name, `${name}:step1`, `${name}:step0`].map(sampled));
  const versions = await Promise.all([`${name}:v0`, `${name}:v1`].map(sampled));
  const steps = [newest, first, untrained, ...versions].map((each) => each?.checkpoint_step);
  expect(steps).toEqual([1, 1, 0, 0, 1]);
  expect(firstLogprob(untrained!)?.logprob).toBeCloseTo(before.choices[0]?.logprobs?.content?.[0]?.logprob ?? NaN, 4);
  const trained = await sampled(`${name}:step1`);
  const same = firstLogprob(trained)?.token === firstLogprob(untrained!)?.token;
  if (same) expect(firstLogprob(trained)?.logprob).not.toBeCloseTo(firstLogprob(untrained!)?.logprob ?? NaN, 6);

  const { data } = await client.listServedModels();
  const listed = data.find(({ id }) => name.endsWith(id));
  expect(listed).toMatchObject({ checkpoint_step: 1, root: model.base_model });

  await client.deleteModelCheckpoints({ model_id: model.id, steps: [1] });
  await expect(sampled(`${name}:step1`)).rejects.toMatchObject({ status: 404 });
  expect((await sampled(name)).checkpoint_step).toBe(0);
  await client.deleteModel({ model_id: model.id });
  await expect(sampled(name)).rejects.toMatchObject({ status: 404 });
});
