import type { LoraConfig, TrainingEngine, TrainingJob, TrainingJobEvent } from "@heddle/training";
import type { PolicyJob } from "@heddle/training/testing";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cpuEngine } from "../cpu-engine.js";
import { preferenceConfig, rlConfig, sftConfig } from "@heddle/training";
import { policyPlan, preferencePlan, runGradientSteps, supervisedPlan } from "@heddle/training/testing";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "heddle-replay-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** Rollouts of different lengths, prompt and trained tokens; five optimizer steps of them. */
const rollouts = Array.from({ length: 20 }, (_, at) => ({
  group: Math.floor(at / 4),
  advantage: at % 2 ? 0.5 : -0.5,
  sequences: [
    {
      tokens: Int32Array.from({ length: 14 + (at % 4) }, (_, t) =>
        t < 8 ? 60 + Math.floor(at / 4) : 97 + ((at * 5 + t) % 26),
      ),
      mask: Uint8Array.from({ length: 14 + (at % 4) }, (_, t) => (t < 8 ? 0 : 1)),
      oldLogprobs: new Float64Array(14 + (at % 4)).fill(NaN),
    },
  ],
}));

function job(name: string, change: Partial<PolicyJob> = {}): PolicyJob & { events: TrainingJobEvent[] } {
  const events: TrainingJobEvent[] = [];
  return {
    engine: cpuEngine(),
    from: { baseModel: "random:tiny" },
    directory: join(directory, name),
    seed: 5,
    stepsPerCheckpoint: 1,
    onEvent: (event) => void events.push(event),
    settings: rlConfig({ packed_sequence_length: 38, precalculate_logprobs: true, kl_penalty_coef: 0.01 }),
    rollouts,
    learningRateFactor: 1,
    constants: {},
    ...change,
    events,
  };
}

/** Digest of every file of a checkpoint. */
async function bits(name: string): Promise<Record<string, string>> {
  const files = (await readdir(join(directory, name), { recursive: true, withFileTypes: true })).filter((file) =>
    file.isFile(),
  );
  const digests = files.map(async (file) => {
    const bytes = await readFile(join(file.parentPath, file.name));
    return [file.name, createHash("sha256").update(bytes).digest("hex")] as const;
  });
  return Object.fromEntries(await Promise.all(digests));
}

const untimed = (events: TrainingJobEvent[]) =>
  events.map(({ type, data }) => ({ type, data: { ...data, tokens_per_second: undefined } }));

/** An engine whose process ends in the middle of a step. */
function dying(engine: TrainingEngine, afterSteps: number): TrainingEngine {
  return {
    ...engine,
    openTrainer: async (spec) => {
      const trainer = await engine.openTrainer(spec);
      return {
        ...trainer,
        optimStep: async (settings) => {
          const applied = await trainer.optimStep(settings);
          if (applied.steps > afterSteps) throw new Error("killed");
          return applied;
        },
      };
    },
  };
}

describe("five steps of reinforcement learning on the real trainer", () => {
  const adapters: [string, LoraConfig | undefined][] = [
    ["all weights", undefined],
    ["an adapter", { rank: 4, alpha: 8, targets: ["q", "v", "down"] }],
  ];
  it.each(adapters)("are bitwise reproducible when repeated and when resumed: %s", async (_, adapter) => {
    const whole = job("whole", { adapter });
    await runGradientSteps(whole, policyPlan(whole));
    expect(whole.events.filter(({ type }) => type === "gradient_step")).toHaveLength(5);
    const again = job("again", { adapter });
    await runGradientSteps(again, policyPlan(again));
    expect(await bits("again")).toEqual(await bits("whole"));
    expect(untimed(again.events)).toEqual(untimed(whole.events));

    const workDirectory = join(directory, "work");
    const killed = job("resumed", { adapter, workDirectory, engine: dying(cpuEngine(), 3) });
    await expect(runGradientSteps(killed, policyPlan(killed))).rejects.toThrow("killed");
    const resumed = job("resumed", { adapter, workDirectory, reported: { started: true, gradientSteps: 3 } });
    await runGradientSteps(resumed, policyPlan(resumed));
    expect(await bits("resumed")).toEqual(await bits("whole"));
    expect(untimed([...killed.events, ...resumed.events])).toEqual(untimed(whole.events));
  });
});

describe("supervised steps on the real trainer", () => {
  it("lower the loss, and continue with the moments of the checkpoint", async () => {
    const losses: number[] = [];
    const supervised = (name: string, from: TrainingJob["from"]): TrainingJob => ({
      ...job(name),
      from,
      onEvent: ({ type, data }) => {
        if (type === "gradient_step") losses.push(Number(data["loss"]));
      },
    });
    const rows = Array.from({ length: 10 }, () => rollouts[3]!.sequences[0]!);
    const first = supervised("first", { baseModel: "random:tiny" });
    const settings = sftConfig({ learning_rate: 3e-3 }, rows.length);
    const { weights } = await runGradientSteps(first, supervisedPlan({ ...first, settings, rows }));
    const second = supervised("second", weights);
    await runGradientSteps(second, supervisedPlan({ ...second, settings, rows }));
    expect(losses).toHaveLength(10);
    expect(losses[9]).toBeLessThan(losses[0]! / 2);

    // Twice five steps are ten: nothing of the optimizer is lost between jobs.
    const ten = supervised("ten", { baseModel: "random:tiny" });
    const twice = [...rows, ...rows];
    await runGradientSteps(ten, supervisedPlan({ ...ten, settings, rows: twice }));
    expect((await bits("ten"))["model.safetensors"]).toBe((await bits("second"))["model.safetensors"]);
  });
});

describe("steps of preferences on the real trainer", () => {
  const sequences = rollouts.map(({ sequences: [first] }) => ({ tokens: first!.tokens, mask: first!.mask }));
  const rows = {
    dpo: Array.from({ length: 10 }, (_, at) => ({ chosen: sequences[at]!, rejected: sequences[at + 10]! })),
    kto: sequences.slice(0, 10).map((answer, at) => ({ answer, desirable: at % 2 === 0 })),
  };
  it.each(["dpo", "kto"] as const)("are bitwise the same when resumed after an interruption: %s", async (objective) => {
    const settings = preferenceConfig({ objective, batch_size: 4, num_epochs: 2, learning_rate: 1e-3 });
    const planned = (change: Partial<TrainingJob> & { name: string }) => {
      const interruptible = { ...job(change.name), ...change, settings, rows: rows[objective] };
      return { job: interruptible, plan: preferencePlan(interruptible) };
    };
    const whole = planned({ name: "whole" });
    await runGradientSteps(whole.job, whole.plan);
    expect(whole.job.events.filter(({ type }) => type === "gradient_step")).toHaveLength(6);

    const workDirectory = join(directory, "work");
    const killed = planned({ name: "resumed", workDirectory, engine: dying(cpuEngine(), 3) });
    await expect(runGradientSteps(killed.job, killed.plan)).rejects.toThrow("killed");
    const reported = { started: true, gradientSteps: 3 };
    // The reference is that of the beginning, which is not computed again.
    const references: number[] = [];
    const engine = cpuEngine();
    const counting: TrainingEngine = {
      ...engine,
      openTrainer: async (spec) => {
        references.push(spec.weights.checkpoint === undefined ? 1 : 0);
        return await engine.openTrainer(spec);
      },
    };
    const resumed = planned({ name: "resumed", workDirectory, reported, engine: counting });
    await runGradientSteps(resumed.job, resumed.plan);
    expect(references).toEqual([0]);
    expect(await bits("resumed")).toEqual(await bits("whole"));
    expect(untimed([...killed.job.events, ...resumed.job.events])).toEqual(untimed(whole.job.events));
  });
});
