import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadModel } from "../../src/runnable-objects/load-model.js";
import { referencedObject } from "../../src/objects/referenced-object.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
const projectId = newProject();
beforeAll(async () => {
  service = await openTestService();
  await makeModel(projectId);
});
afterAll(() => service.close());

const makeModel = async (project: string) =>
  await service.services.control.trainingModels.create({
    id: randomUUID(),
    checkpoint_id: randomUUID(),
    project_id: project,
    name: "agent",
    base_model: "heddle/starter",
    run_id: randomUUID(),
    created_by: "ann",
  });

/** What a model object with this id predicts. */
async function predicted(llmModelId: string, params: object = {}) {
  const name = `model-${randomUUID()}`;
  const val = { llm_model_id: llmModelId, default_params: { max_tokens: 12, temperature: 0, ...params } };
  const obj = { project_id: projectId, object_id: name, val, builtin_object_class: "LLMStructuredCompletionModel" };
  const { digest } = await service.tracing().objCreate({ obj });
  const ref = `weave:///${projectId}/object/${name}:${digest}`;
  const model = await loadModel(service.services, await referencedObject(service.services, projectId, ref));
  return await model.predict('{"user_input":"Say the word loom."}', new AbortController().signal);
}

test.each([
  "heddle/starter",
  `heddle/${projectId}/agent`,
  `heddle/${projectId}/agent:step0`,
  `wandb-artifact:///${projectId}/agent`,
])("a model object can name %s, a model of the service", async (id) => {
  const { output, usage, model } = await predicted(id);
  expect(output).toMatch(/loom/i);
  expect([model, usage]).toEqual([id, expect.objectContaining({ completion_tokens: expect.any(Number) })]);
});

test("models of other projects, and parameters that are wrong, are errors", async () => {
  const other = newProject();
  await makeModel(other);
  const missing = await predicted(`heddle/${projectId}/none`).catch((error: Error) => error.message);
  const foreign = await predicted(`heddle/${other}/agent`).catch((error: Error) => error.message);
  expect([missing, foreign]).toEqual([`there is no model "${projectId}/none"`, `there is no model "${other}/agent"`]);
  await expect(predicted("heddle/starter", { top_p: 7 })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("body.top_p"),
  });
});
