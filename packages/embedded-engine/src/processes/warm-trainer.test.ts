import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Trainer, TrainerSpec, WeightsRef } from "@heddle/training";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { OpenEngine } from "../../test/embedded-engine.js";
import { adam, isRunning, lesson, openEngine, sequences, tiny } from "../../test/embedded-engine.js";

// Training runs at a lower priority than other processes.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const adapter = { rank: 4, alpha: 8, targets: ["q" as const, "down" as const] };
let open: OpenEngine;
let names = 0;
beforeAll(async () => {
  open = await openEngine({ idleTrainerMs: 600_000 });
});
afterAll(() => open.close());

async function learn(trainer: Trainer, steps: number): Promise<WeightsRef> {
  for (let step = 0; step < steps; step++) {
    await trainer.forwardBackward(lesson(4, 24, step));
    await trainer.optimStep(adam);
  }
  return await trainer.exportWeights(join(open.directory, String(names++)), { state: true });
}

/** Opens, trains and closes a trainer. Returns its checkpoint and whether it started a process. */
async function job(spec: Partial<TrainerSpec>, steps = 2): Promise<{ saved: WeightsRef; started: boolean }> {
  const before = open.pids("training").length;
  const trainer = await open.engine.openTrainer({ weights: tiny, seed: 1, ...spec });
  const saved = await learn(trainer, steps);
  await trainer.close();
  return { saved, started: open.pids("training").length > before };
}

function bits({ checkpoint = "" }: WeightsRef): Buffer[] {
  const files = ["optimizer.safetensors", "training_state.json"];
  return files.map((name) => readFileSync(join(checkpoint, name)));
}

describe("the process of a closed trainer", () => {
  it("trains the next job of the model, with the bits of a new process", async () => {
    const [first, second] = [await job({}), await job({}, 0)];
    const third = await job({ weights: first.saved });
    expect([first.started, second.started, third.started]).toEqual([true, false, false]);
    // Of the base model again, of a checkpoint that is loaded, and of the state that the process is in.
    const again = await job({});
    const more = await job({ weights: again.saved });
    expect([again.started, more.started]).toEqual([false, false]);
    expect(bits(again.saved)).toEqual(bits(first.saved));
    expect(bits(more.saved)).toEqual(bits(third.saved));
    const reset = await job({ weights: more.saved, resetOptimizer: true }, 1);
    const other = await openEngine();
    const fresh = await other.engine.openTrainer({ weights: more.saved, seed: 1, resetOptimizer: true });
    expect(bits(await learn(fresh, 1))).toEqual(bits(reset.saved));
    const whole = await other.engine.openTrainer({ weights: tiny, seed: 1 }).catch((error: unknown) => error);
    expect(whole).toMatchObject({ code: "busy" });
    await other.close();
  });

  it("is replaced by one for another kind of training, which is kept as well", async () => {
    await job({});
    const pid = open.pids("training").at(-1) ?? 0;
    const first = await job({ adapter });
    expect(first.started).toBe(true);
    expect(isRunning(pid)).toBe(false);
    const more = await job({ weights: first.saved });
    const again = await job({ adapter });
    expect([more.started, again.started]).toEqual([false, false]);
    expect(bits(again.saved)).toEqual(bits(first.saved));
    expect((await job({ weights: again.saved, adapter: { ...adapter, alpha: 9 } })).started).toBe(false);
    expect((await job({ adapter: { ...adapter, alpha: 9 } })).started).toBe(true);
  });

  it("has no gradient of the trainer before, and an aborted call leaves it usable", async () => {
    const { saved } = await job({});
    const trainer = await open.engine.openTrainer({ weights: saved, seed: 1 });
    await trainer.forwardBackward(lesson(4, 24));
    const call = trainer.forwardBackward(lesson(2000, 200));
    await Promise.all([expect(call).rejects.toMatchObject({ code: "aborted" }), trainer.close()]);
    await expect(trainer.logprobs(sequences(1, 8))).rejects.toMatchObject({ code: "aborted" });
    const pids = open.pids("training").length;
    const next = await open.engine.openTrainer({ weights: saved, seed: 1 });
    expect((await next.optimStep({ ...adam, learningRate: 0 })).gradientNorm).toBe(0);
    await next.close();
    expect(open.pids("training")).toHaveLength(pids);
  });

  it("ends with a trainer that cannot be opened, and with the engine", async () => {
    await job({});
    const missing = { ...tiny, checkpoint: join(open.directory, "nowhere") };
    await expect(open.engine.openTrainer({ weights: missing, seed: 1 })).rejects.toMatchObject({ code: "not_found" });
    const { started } = await job({});
    expect(started).toBe(false);
    const pid = open.pids("training").at(-1) ?? 0;
    expect(isRunning(pid)).toBe(true);
    await open.engine.close();
    expect(isRunning(pid)).toBe(false);
    open = await openEngine();
  });
});
