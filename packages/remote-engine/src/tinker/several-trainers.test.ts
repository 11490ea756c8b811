import { join } from "node:path";
import type { Objective } from "@heddle/training";
import { afterEach, expect, test } from "vitest";
import { TinkerServer } from "../../test/tinker-server.js";
import type { TinkerServerOptions } from "../../test/tinker-server.js";
import type { TinkerTrainers } from "../../test/tinker-trainers.js";
import { adam as withDecay, baseModel, openTrainers } from "../../test/tinker-trainers.js";
import { openTinkerTrainers } from "./provider.js";

const sequence = { tokens: Int32Array.of(1, 2, 3, 4), mask: Uint8Array.of(0, 1, 1, 1) };
const objective: Objective = { name: "cross_entropy", sequences: [sequence], normalizer: 3 };
const adam = { ...withDecay, weightDecay: 0 };
const spec = { weights: { baseModel }, seed: 1 };

let opened: (TinkerTrainers & { second: TinkerServer }) | undefined;
afterEach(async () => {
  await opened?.provider.close();
  await opened?.second.close().catch(() => undefined);
  await opened?.close();
  opened = undefined;
});

async function openTwo(options: TinkerServerOptions = {}) {
  const one = await openTrainers(options);
  const second = await new TinkerServer(options).listen();
  const url = [one.server.url, second.url];
  opened = { ...one, second, provider: openTinkerTrainers({ url, models: [one.model], pauseMs: 1 }) };
  return opened;
}

test("trainers are spread over the servers, and what is full is passed over", async () => {
  const { provider, server, second } = await openTwo({ slots: 2 });
  const trainers = [];
  for (let at = 0; at < 4; at++) trainers.push(await provider.openTrainer(spec));
  expect([server.models.size, second.models.size]).toEqual([2, 2]);
  await expect(provider.openTrainer(spec)).rejects.toMatchObject({
    code: "busy",
    message: expect.stringMatching(/^no training server takes the model: 127\.0\.0\.1:\d+: .*; 127\.0\.0\.1:\d+: /u),
  });
  await trainers[2]!.close();
  await trainers[2]!.close();
  await provider.openTrainer(spec);
  expect([server.models.size, second.models.size]).toEqual([2, 2]);
});

test("training goes on at the server that has the state, which is deleted there", async () => {
  const { provider, server, second, directory } = await openTwo();
  await provider.openTrainer(spec);
  const trainer = await provider.openTrainer(spec);
  await trainer.forwardBackward(objective);
  await trainer.optimStep(adam);
  const state = await trainer.exportWeights(join(directory, "state"), { state: true });
  await trainer.close();
  expect(second.models.size).toBe(0);
  const resumed = await provider.openTrainer({ weights: state, seed: 1 });
  expect([server.models.size, second.models.size]).toEqual([1, 1]);
  expect(await resumed.optimStep({ ...adam, learningRate: 0 })).toMatchObject({ steps: 2 });
  expect(await provider.adapterOf(state)).toMatchObject({ rank: 8 });
  await provider.deleteWeights(state);
  expect([server.saved.size, second.saved.size]).toEqual([0, 0]);
});

test("a server that is away gets no model, and its states wait for it", async () => {
  const { provider, server, second, directory } = await openTwo();
  await provider.openTrainer(spec);
  const trainer = await provider.openTrainer(spec);
  const state = await trainer.saveState(join(directory, "state"));
  await trainer.close();
  await second.close();
  expect(await provider.health()).toMatchObject({ ok: true, detail: expect.stringContaining("refuses connections") });
  await provider.openTrainer(spec);
  expect(server.models.size).toBe(2);
  await expect(provider.openTrainer({ weights: state, seed: 1 })).rejects.toMatchObject({ code: "busy" });
});
