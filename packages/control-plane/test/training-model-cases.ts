import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { openControlPlane } from "../src/index.js";
import type { Checkpoint, ControlPlane, TrainingModel, TrainingModels } from "../src/index.js";

const project = "acme/demo";

/** What the training interface may expect of models on any back end. `make` gives the URL of an empty database. */
export function trainingModelCases(backEnd: string, make: () => Promise<string>): void {
  async function open(
    services = 1,
  ): Promise<{ all: TrainingModels[]; clock: { now: bigint }; models: TrainingModels }> {
    const url = await make();
    const clock = { now: 1_775_811_600_000_000n };
    const planes: ControlPlane[] = [];
    for (let n = 0; n < services; n++) planes.push(await openControlPlane({ url, now: () => clock.now }));
    onTestFinished(async () => void (await Promise.all(planes.map(async (plane) => await plane.close()))));
    const all = planes.map(({ trainingModels }) => trainingModels);
    const [models] = all;
    if (models === undefined) throw new Error("no service");
    return { all, clock, models };
  }

  const create = async (models: TrainingModels, name = "agent", more: Partial<TrainingModel> = {}) =>
    await models.create({
      id: randomUUID(),
      checkpoint_id: randomUUID(),
      project_id: project,
      name,
      base_model: "heddle/starter",
      run_id: "run",
      created_by: "ann",
      ...more,
    });
  const add = async (models: TrainingModels, { id }: TrainingModel, more: Partial<Checkpoint> = {}) =>
    await models.checkpoints.add({
      id: randomUUID(),
      model_id: id,
      metrics: {},
      artifact_version: randomUUID(),
      weights_digest: "weights",
      ...more,
      job_id: more.job_id ?? randomUUID(),
    });
  const stepsOf = async (models: TrainingModels, { id }: TrainingModel, order: "asc" | "desc" = "asc") =>
    (await models.checkpoints.page(id, { limit: 100, order })).checkpoints.map(({ step }) => step);
  const missing = randomUUID();

  describe(`training models on ${backEnd}`, () => {
    test("models are found by name and entity, newest first, with the step of their newest checkpoint", async () => {
      const { models } = await open();
      const { model: first } = await create(models);
      const { model: second } = await create(models, "agent", { project_id: "acmé/demo" });
      const { model: third } = await create(models, "tutor");
      await add(models, first);
      const found = async (search: Parameters<TrainingModels["search"]>[0]) =>
        (await models.search(search)).map(({ model: { id }, newest_step }) => [id, newest_step]);
      const [one, two, three] = [
        [first.id, 1],
        [second.id, 0],
        [third.id, 0],
      ];
      expect(await found({})).toEqual([three, two, one]);
      expect(await found({ limit: 1 })).toEqual([three]);
      expect(await found({ name: "agent" })).toEqual([two, one]);
      expect(await found({ entity: "acme" })).toEqual([three, one]);
      expect(await found({ entity: "acmé", name: "agent" })).toEqual([two]);
      for (const none of ["acm", "acme/demo", "%", "\0"]) expect(await found({ entity: none })).toEqual([]);
      await models.delete(third.id);
      await models.checkpoints.delete(first.id, [0, 1]);
      expect(await found({ entity: "acme" })).toEqual([[first.id, null]]);
    });

    test("a checkpoint is found by the artifact version with its weights", async () => {
      const { models } = await open();
      const { model } = await create(models);
      const { artifact_version, ...checkpoint } = await add(models, model);
      expect(await models.checkpoints.ofArtifact(model.id, artifact_version ?? "")).toMatchObject(checkpoint);
      expect(await models.checkpoints.ofArtifact(missing, artifact_version ?? "")).toBeUndefined();
      expect(await models.checkpoints.ofArtifact(model.id, missing)).toBeUndefined();
    });

    test("a model is read by its id and by its name in its project, and begins with the untrained step 0", async () => {
      const { models, clock } = await open();
      const { model, created } = await create(models);
      expect(created).toBe(true);
      expect(model).toMatchObject({ project_id: project, name: "agent", base_model: "heddle/starter", run_id: "run" });
      expect(model).toMatchObject({ created_by: "ann", created_at: clock.now });
      expect(await models.get(model.id)).toEqual(model);
      expect(await models.find(project, "agent")).toEqual(model);
      expect(await models.find("acme/other", "agent")).toBeUndefined();
      for (const id of [missing, "agent\0", "\ud800"]) expect(await models.get(id)).toBeUndefined();
      expect(await models.find(project, "agent\0")).toBeUndefined();
      const first = {
        id: expect.any(String),
        model_id: model.id,
        step: 0,
        metrics: {},
        artifact_version: null,
        weights_digest: null,
        job_id: null,
        parity: null,
        created_at: clock.now,
      };
      expect(await models.checkpoints.newest(model.id)).toEqual(first);
      expect(await models.checkpoints.atStep(model.id, 0)).toEqual(first);
      for (const step of [1, -1, 0.5, 1e300, Number.NaN])
        expect(await models.checkpoints.atStep(model.id, step)).toBeUndefined();
    });

    test("a name belongs to one model of a project, whoever creates it at the same time", async () => {
      const { all, models } = await open(2);
      const results = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => await create(all[n % 2] ?? models, "agent")),
      );
      expect(results.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(results.map(({ model }) => model.id)).size).toBe(1);
      const [{ model } = await create(models)] = results;
      expect(await stepsOf(models, model)).toEqual([0]);
      expect((await create(models, "agent", { project_id: "acme/other" })).created).toBe(true);
      await expect(create(models, " ")).rejects.toMatchObject({ code: "unprocessable", loc: ["name"] });
    });

    test("the models of a project are listed in pages, in the order of their creation", async () => {
      const { models } = await open();
      const createdIds: string[] = [];
      for (const name of ["c", "a", "b"]) createdIds.push((await create(models, name)).model.id);
      await create(models, "elsewhere", { project_id: "acme/other" });
      const first = await models.list(project, { limit: 2 });
      expect(first.models.map(({ name }) => name)).toEqual(["c", "a"]);
      expect(first.has_more).toBe(true);
      const second = await models.list(project, { limit: 2, after: createdIds[1] });
      expect([second.models.map(({ name }) => name), second.has_more]).toEqual([["b"], false]);
      await models.delete(createdIds[1] ?? "");
      expect((await models.list(project, { limit: 2, after: createdIds[1] })).models).toEqual(second.models);
      const { model: elsewhere } = await create(models, "elsewhere", { project_id: "acme/third" });
      for (const after of [missing, "\0", elsewhere.id]) {
        const page = models.list(project, { limit: 2, after });
        await expect(page).rejects.toMatchObject({ code: "invalid", loc: ["after"] });
      }
    });

    test("each job adds one checkpoint, and no step is used twice", async () => {
      const { all, models } = await open(2);
      const { model } = await create(models);
      const job = randomUUID();
      const first = await add(models, model, { job_id: job, metrics: { "train/reward": 0.5 } });
      expect(first).toMatchObject({
        step: 1,
        metrics: { "train/reward": 0.5 },
        job_id: job,
        weights_digest: "weights",
      });
      expect(await add(models, model, { job_id: job })).toEqual(first);
      await Promise.all(Array.from({ length: 8 }, async (_, n) => await add(all[n % 2] ?? models, model)));
      expect(await stepsOf(models, model)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      await models.checkpoints.delete(model.id, [9]);
      expect(await models.checkpoints.newest(model.id)).toMatchObject({ step: 8 });
      expect(await add(models, model)).toMatchObject({ step: 10 });
      const nowhere = add(models, { ...model, id: missing });
      await expect(nowhere).rejects.toMatchObject({ code: "not_found" });
    });

    test("checkpoints are read in pages in both orders, also after the cursor was deleted", async () => {
      const { models } = await open();
      const { model } = await create(models);
      for (let n = 0; n < 4; n++) await add(models, model);
      const { checkpoints } = models;
      const all = (await checkpoints.page(model.id, { limit: 100 })).checkpoints;
      const page = async (after: number, order: "asc" | "desc", limit = 2) => {
        const read = await checkpoints.page(model.id, { limit, order, after: all[after]?.id });
        return [...read.checkpoints.map(({ step }) => step), read.has_more];
      };
      expect(await page(-1, "asc")).toEqual([0, 1, true]);
      expect(await page(1, "asc")).toEqual([2, 3, true]);
      expect(await page(3, "asc")).toEqual([4, false]);
      expect(await page(4, "asc")).toEqual([false]);
      expect(await page(-1, "desc", 1)).toEqual([4, true]);
      expect(await page(2, "desc")).toEqual([1, 0, false]);
      await checkpoints.delete(model.id, [1, 2]);
      expect(await page(1, "asc")).toEqual([3, 4, false]);
      expect(await page(2, "desc")).toEqual([0, false]);
      const { model: other } = await create(models, "other");
      const foreign = await checkpoints.newest(other.id);
      for (const after of [missing, "\0", foreign?.id]) {
        const read = checkpoints.page(model.id, { limit: 2, after });
        await expect(read).rejects.toMatchObject({ code: "invalid", loc: ["after"] });
      }
    });

    test("deleted checkpoints are returned once, and their weights stay to be read until they are purged", async () => {
      const { models } = await open();
      const { model } = await create(models);
      await add(models, model);
      await add(models, model);
      const { checkpoints } = models;
      const deleted = await checkpoints.delete(model.id, [2, 0, 2, 7, -1, 0.5, 1e300]);
      expect(deleted.map(({ step }) => step)).toEqual([0, 2]);
      expect(await checkpoints.delete(model.id, [0, 2])).toEqual([]);
      expect(await stepsOf(models, model)).toEqual([1]);
      expect(await checkpoints.atStep(model.id, 2)).toBeUndefined();
      expect(await checkpoints.atStep(model.id, 2, { deleted: true })).toEqual(deleted[1]);
      expect(await checkpoints.toPurge(model.id)).toEqual([deleted[1]]);
      expect(await checkpoints.toPurge()).toEqual([deleted[1]]);
      for (const { id } of await checkpoints.toPurge()) await checkpoints.markPurged(id);
      expect(await checkpoints.toPurge()).toEqual([]);
      expect(await checkpoints.atStep(model.id, 2, { deleted: true })).toBeUndefined();
      await expect(checkpoints.delete(missing, [0])).rejects.toMatchObject({ code: "not_found" });
    });

    test("metrics are added to those that a checkpoint has, whatever their names, up to a number", async () => {
      const { models } = await open();
      const { model } = await create(models);
      const checkpoint = await models.checkpoints.newest(model.id);
      const id = checkpoint?.id ?? "";
      const odd = { "val/\0 \ud800 %": 1, __proto__x: 2, 'val/"': -1e-9 };
      await models.checkpoints.mergeMetrics(id, { "val/reward": 0.25, "val/steps": 3 });
      await models.checkpoints.mergeMetrics(id, { "val/reward": 0.75, ...odd });
      const metrics = { "val/reward": 0.75, "val/steps": 3, ...odd };
      expect(await models.checkpoints.newest(model.id)).toEqual({ ...checkpoint, metrics });
      const many = Object.fromEntries(Array.from({ length: 9_996 }, (_, n) => [`m${n}`, n]));
      const tooMany = models.checkpoints.mergeMetrics(id, many);
      await expect(tooMany).rejects.toMatchObject({ code: "too_large", loc: ["metrics"] });
      expect(await models.checkpoints.newest(model.id)).toMatchObject({ metrics });
      await expect(models.checkpoints.mergeMetrics(missing, {})).rejects.toMatchObject({ code: "not_found" });
    });

    test("a deleted model is gone with its checkpoints, and its name can be used again", async () => {
      const { models } = await open();
      const { model } = await create(models);
      await add(models, model);
      await models.checkpoints.delete(model.id, [0]);
      expect(await models.delete(model.id)).toEqual({ deleted_checkpoints: 1 });
      await expect(models.delete(model.id)).rejects.toMatchObject({ code: "not_found" });
      expect(await models.get(model.id)).toBeUndefined();
      expect(await models.find(project, "agent")).toBeUndefined();
      expect(await models.list(project, { limit: 10 })).toEqual({ models: [], has_more: false });
      expect(await models.checkpoints.newest(model.id)).toBeUndefined();
      expect((await models.checkpoints.toPurge(model.id)).map(({ step }) => step)).toEqual([1]);
      await expect(add(models, model)).rejects.toMatchObject({ code: "not_found" });
      const again = await create(models);
      expect([again.created, again.model.id === model.id]).toEqual([true, false]);
      expect(await stepsOf(models, again.model)).toEqual([0]);
    });
  });
}
