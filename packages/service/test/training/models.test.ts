import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { readPage } from "./read-page.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const unknown = "0199d3a4-8000-7a11-8b22-3c4d5e6f7081";

/** The names of a new project, in the form of the training interface. */
function project() {
  const [entity = "", name = ""] = newProject().split("/");
  return { entity, project: name };
}

describe("a model", () => {
  test("is created with its project and the untrained checkpoint of step 0", async () => {
    const training = service.training();
    const names = project();
    const created = await training.createModel({ ...names, name: "agent", base_model: "heddle/starter" });
    expect(created).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ...names,
      name: "agent",
      base_model: "heddle/starter",
      lora: null,
      init_from: null,
      run_id: expect.stringMatching(/^[0-9a-z]{8}$/),
      inference_name: `heddle-artifact:///${names.entity}/${names.project}/agent`,
      created_at: expect.any(String),
    });
    expect(await training.getModel({ model_id: created.id })).toEqual(created);
    expect(await service.services.control.projects.get(names.entity, names.project)).toBeDefined();
    const path = `/v1/preview/models/${created.id}/checkpoints`;
    expect((await readPage(service, path, { limit: 1, order: "desc" })).data).toMatchObject([
      { step: 0, metrics: {}, untrained: true, job_id: null },
    ]);
  });

  test("belongs to the entity of the key if the request names none, or null", async () => {
    const training = service.training(await service.key({ entity: "acme", role: "write" }));
    const { project: name } = project();
    const request = { project: name, name: "agent", base_model: "heddle/starter" };
    expect(await training.createModel(request)).toMatchObject({ entity: "acme", project: name });
    const again = { ...request, entity: null, return_existing: true };
    const response = await service.fetch("http://in-process/v1/preview/models", {
      method: "POST",
      headers: { authorization: `Bearer ${service.owner_key}`, "content-type": "application/json" },
      body: JSON.stringify(again),
    });
    const { defaultEntity } = service.services.config;
    expect([response.status, await response.json()]).toMatchObject([200, { entity: defaultEntity }]);
  });

  test("is returned to every request that creates it, also to twenty at the same time", async () => {
    const training = service.training();
    const request = { ...project(), name: "agent", base_model: "heddle/starter", return_existing: true };
    const created = await Promise.all(Array.from({ length: 20 }, async () => await training.createModel(request)));
    expect(new Set(created.map(({ id, run_id }) => `${id} ${run_id}`)).size).toBe(1);
    const steps: number[] = [];
    for await (const { step } of training.listModelCheckpoints({ model_id: created[0]?.id ?? "" })) steps.push(step);
    expect(steps).toEqual([0]);
  });

  test("keeps its name from a second one, and its base model from another", async () => {
    const training = service.training();
    const request = { ...project(), name: "agent", base_model: "heddle/starter" };
    await training.createModel(request);
    await expect(training.createModel(request)).rejects.toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/has a model agent with the base model heddle\/starter$/) },
    });
    const other = { ...request, base_model: "random:tiny", return_existing: true };
    await expect(training.createModel(other)).rejects.toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("heddle/starter, not random:tiny") },
    });
  });

  test("needs a base model that there is, and a name that an artifact can have", async () => {
    const training = service.training();
    const request = { ...project(), name: "agent", base_model: "somebody/else" };
    await expect(training.createModel(request)).rejects.toMatchObject({
      status: 422,
      body: {
        detail: [{ loc: ["body", "base_model"], msg: expect.stringContaining("this service trains heddle/starter") }],
      },
    });
    const baseModel = "heddle/starter";
    for (const name of ["", "..", "-x", "a/b", "a b", "a:b", "ä", "a\0", "a".repeat(129)]) {
      const detail = [{ loc: ["body", "name"] }];
      const refused = training.createModel({ ...request, base_model: baseModel, name });
      await expect(refused).rejects.toMatchObject({ status: 422, body: { detail } });
    }
    for (const odd of ["a/b", " ", "a\0"]) {
      const refused = training.createModel({ ...request, base_model: baseModel, project: odd });
      await expect(refused).rejects.toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "project"] }] } });
    }
    const projectId = `${request.entity}/${request.project}`;
    expect((await readPage(service, "/v1/preview/models", { project_id: projectId })).data).toEqual([]);
  });

  test("is listed with the others of its project in pages", async () => {
    const training = service.training();
    const names = project();
    const projectId = `${names.entity}/${names.project}`;
    const list = async (query: { limit?: number; after?: string } = {}) =>
      await readPage<{ id: string }>(service, "/v1/preview/models", { project_id: projectId, ...query });
    expect(await list()).toEqual({ object: "list", data: [], first_id: "", last_id: "", has_more: false });
    const created = [];
    for (const name of ["c", "a", "b"])
      created.push(await training.createModel({ ...names, name, base_model: "heddle/starter" }));
    const ids = created.map(({ id }) => id);
    const envelope = { object: "list", first_id: ids[0], last_id: ids[1], has_more: true };
    expect(await list({ limit: 2 })).toEqual({ ...envelope, data: created.slice(0, 2) });
    expect(await list({ limit: 2, after: ids[1] ?? "" })).toMatchObject({ data: created.slice(2), has_more: false });
    const listed: unknown[] = [];
    for await (const model of training.listModels({ project_id: projectId, limit: 1 })) listed.push(model);
    expect(listed).toEqual(created);
    const { id: foreign } = await training.createModel({ ...project(), name: "c", base_model: "heddle/starter" });
    for (const after of [unknown, foreign, "x"]) await expect(list({ after })).rejects.toMatchObject({ status: 400 });
  });

  test("is unknown after it was deleted, and its name is free", async () => {
    const training = service.training();
    const request = { ...project(), name: "agent", base_model: "heddle/starter" };
    const { id } = await training.createModel(request);
    const deleted = await training.deleteModel({ model_id: id });
    expect(deleted).toEqual({ model_id: id, deleted_checkpoints: 1, deleted_run: false });
    const notFound = { status: 404, body: { detail: expect.stringContaining(`no model ${id}`) } };
    await expect(training.deleteModel({ model_id: id })).rejects.toMatchObject(notFound);
    await expect(training.getModel({ model_id: id })).rejects.toMatchObject(notFound);
    await expect(readPage(service, `/v1/preview/models/${id}/checkpoints`)).rejects.toMatchObject(notFound);
    expect((await training.createModel(request)).id).not.toBe(id);
  });

  test("of another project looks like one that does not exist", async () => {
    const mine = service.training(await service.key({ projects: ["mine"] }));
    const request = { entity: "acme", project: "theirs", name: "agent", base_model: "heddle/starter" };
    await expect(mine.createModel(request)).rejects.toMatchObject({ status: 403, body: { detail: "Forbidden" } });
    const { id } = await service.training().createModel({ ...request, return_existing: true });
    const responses = [];
    for (const modelId of [id, unknown]) {
      const response: unknown = await mine
        .deleteModel({ model_id: modelId })
        .catch((error: { status: number; body: unknown }) => ({
          status: error.status,
          body: JSON.stringify(error.body).replace(modelId, "<id>"),
        }));
      responses.push(response);
    }
    expect(responses[0]).toMatchObject({ status: 404 });
    expect(responses[0]).toEqual(responses[1]);
    await expect(mine.getModel({ model_id: "x" })).rejects.toMatchObject({ status: 422 });
    const readOnly = service.training(await service.key({ role: "read" }));
    expect(await readOnly.getModel({ model_id: id })).toMatchObject({ id });
    await expect(readOnly.deleteModel({ model_id: id })).rejects.toMatchObject({ status: 403 });
  });
});

test("the base models are those of the engine", async () => {
  const { data } = await service.training().listBaseModels();
  const starter = data.find(({ id }) => id === "heddle/starter");
  expect(starter).toMatchObject({ object: "base_model", trainable: true, sampleable: true });
  expect(starter?.max_lora_rank).toBeGreaterThan(0);
  expect(starter?.parameters).toBeGreaterThan(1000);
  expect(starter?.context_window).toBeGreaterThan(16);
  const names = (await service.services.training.capabilities()).models.map(({ name }) => name);
  expect(data.map(({ id }) => id)).toEqual(names.toSorted());
});
