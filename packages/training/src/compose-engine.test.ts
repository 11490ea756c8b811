import { expect, test } from "vitest";
import { tableEngine } from "../test/table-engine.js";
import { composeEngine } from "./compose-engine.js";
import type { SamplerProvider } from "./port.js";

const trainer = tableEngine();
const table = { name: "random:table", vocabularySize: 272, contextLength: 32, directory: "" };
const sampling = { contextLength: 32, fullWeights: false };

function samplerProvider(
  health: { ok: boolean; detail?: string } = { ok: true },
): SamplerProvider & { closed: number } {
  const provider = {
    closed: 0,
    sampler: trainer.sampler,
    capabilities: async () => ({
      models: [
        { ...table, sampling, training: undefined },
        { ...table, name: "chat-only", sampling },
        { ...table, name: "neither" },
      ],
    }),
    health: async () => health,
    close: async () => void provider.closed++,
  };
  return provider;
}

test("a model is trained by the one provider and sampled by the other", async () => {
  const { models } = await composeEngine(trainer, samplerProvider()).capabilities();
  expect(models.map(({ name, training, sampling: of }) => [name, training !== undefined, of])).toEqual([
    ["random:table", true, sampling],
    ["chat-only", false, sampling],
  ]);
});

test("an engine is healthy when both providers are, and names the one that is not", async () => {
  expect(await composeEngine(trainer, samplerProvider()).health()).toEqual({ ok: true });
  const detail = "the inference server refuses connections";
  expect(await composeEngine(trainer, samplerProvider({ ok: false, detail })).health()).toEqual({ ok: false, detail });
});

test("closing an engine closes each provider once", async () => {
  const provider = samplerProvider();
  await composeEngine(trainer, provider).close();
  expect(provider.closed).toBe(1);
});
