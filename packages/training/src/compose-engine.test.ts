import { beforeEach, expect, test } from "vitest";
import type { TableEngine } from "../test/table-engine.js";
import { tableEngine } from "../test/table-engine.js";
import { composeEngine } from "./compose-engine.js";
import type { BaseModelName, SamplerProvider } from "./port.js";

const sampling = { contextLength: 32, fullWeights: false };

/** A sampler that returns the name of its server as the id of the weights. */
function server(
  name: string,
  models: BaseModelName[],
  health: { ok: boolean; detail?: string } = { ok: true },
): SamplerProvider & { closed: number } {
  const provider: SamplerProvider & { closed: number } = {
    closed: 0,
    models: new Set(models),
    sampler: {
      unsupportedFields: () => ["badWords"],
      generate: async () => ({ completions: [], weightsId: name, cachedTokens: 0 }),
      preload: async () => undefined,
      unload: async () => undefined,
    },
    capabilities: async () => ({
      models: models.map((each) => ({ name: each, vocabularySize: 272, contextLength: 32, directory: "", sampling })),
      unavailableModels: [{ name: "broken", reason: "there is no config.json" }],
    }),
    health: async () => health,
    close: async () => void provider.closed++,
  };
  return provider;
}

let table: TableEngine;
beforeEach(() => {
  table = tableEngine();
});

test("a model is trained by one provider and sampled by another", async () => {
  const inference = server("inference", ["random:table", "served"]);
  const engine = composeEngine({ trainers: [table], samplers: [inference, table] });
  const { models, unavailableModels } = await engine.capabilities();
  expect(unavailableModels).toEqual([{ name: "broken", reason: "there is no config.json" }]);
  expect(models.map(({ name, training, sampling: of }) => [name, training !== undefined, of])).toEqual([
    ["random:table", true, sampling],
    ["served", false, sampling],
  ]);
  const request = { prompt: Int32Array.of(1), n: 1, maxTokens: 1 };
  const result = await engine.sampler.generate({ ...request, weights: { baseModel: "random:table" } });
  expect(result.weightsId).toBe("inference");
  expect(engine.sampler.unsupportedFields({ weights: { baseModel: "served" } })).toEqual(["badWords"]);
  const trainer = await engine.openTrainer({ weights: { baseModel: "random:table" }, seed: 1 });
  await trainer.close();
  expect(table.opened).toHaveLength(1);
});

test("a model that no provider has is not found", async () => {
  const engine = composeEngine({ trainers: [], samplers: [server("inference", ["served"])] });
  const missing = { weights: { baseModel: "other" }, seed: 1 };
  await expect(engine.openTrainer(missing)).rejects.toMatchObject({ code: "not_found", loc: ["weights", "baseModel"] });
  await expect(engine.sampler.preload(missing.weights)).rejects.toMatchObject({ code: "not_found" });
});

test("an engine is healthy when all its providers are, and names the one that is not", async () => {
  expect(await composeEngine({ trainers: [table], samplers: [table] }).health()).toEqual({ ok: true });
  const detail = "the inference server refuses connections";
  const failing = server("inference", ["served"], { ok: false, detail });
  expect(await composeEngine({ trainers: [table], samplers: [failing, table] }).health()).toEqual({
    ok: false,
    detail,
  });
});

test("closing an engine closes each provider once", async () => {
  const inference = server("inference", ["served"]);
  await composeEngine({ trainers: [table], samplers: [inference, table, inference] }).close();
  expect(inference.closed).toBe(1);
});
