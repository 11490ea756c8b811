import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TableEngine } from "../../test/table-engine.js";
import { tableEngine } from "../../test/table-engine.js";
import { divergenceWatch } from "./divergence.js";
import type { DivergenceState } from "./divergence.js";
import { runGradientSteps } from "./gradient-loop.js";
import type { TrainingJobEvent } from "./training-job.js";
import type { PolicyJob } from "./policy-job.js";
import { policyPlan } from "./policy-plan.js";
import { rlConfig } from "./rl-config.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "heddle-jobs-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** Ten groups of four rollouts of six tokens over a vocabulary of 8; two rollouts a step make 20 steps. */
function policyJob(
  engine: TableEngine,
  name: string,
  config: Record<string, unknown> = {},
): PolicyJob & { events: TrainingJobEvent[] } {
  const events: TrainingJobEvent[] = [];
  const rollouts = Array.from({ length: 40 }, (_, at) => ({
    group: Math.floor(at / 4),
    advantage: at % 2 ? 0.5 : -0.5,
    sequences: [
      {
        tokens: Int32Array.from({ length: 6 }, (_, t) => (at * 7 + t * t * 3 + Math.floor(at / 4)) % 8),
        mask: Uint8Array.from([0, 0, 1, 1, 1, 1]),
        oldLogprobs: Float64Array.from({ length: 6 }, (_, t) => (t < 2 ? NaN : -1.9 - ((at + t) % 5) / 10)),
      },
    ],
  }));
  return {
    engine,
    from: { baseModel: "random:table" },
    directory: join(directory, name),
    seed: 11,
    events,
    onEvent: (event) => void events.push(event),
    settings: rlConfig({ packed_sequence_length: 12, ...config }),
    rollouts,
    learningRateFactor: 1,
    constants: {},
  };
}

const run = (job: PolicyJob) => runGradientSteps(job, policyPlan(job));
const bits = async (name: string) =>
  createHash("sha256")
    .update(await readFile(join(directory, name, "table.json")))
    .digest("hex");
/** Events without the metric that depends on time. */
const untimed = (events: TrainingJobEvent[]) =>
  events.map(({ type, data }) => {
    const { tokens_per_second: _, ...rest } = { tokens_per_second: 0, ...data };
    return { type, data: rest };
  });

describe("a training job", () => {
  it("has its provider delete what a server keeps of internal checkpoints", async () => {
    const engine = tableEngine({ vocabulary: 8 });
    const workDirectory = join(directory, "work");
    await run({ ...policyJob(engine, "checkpoint"), workDirectory, stepsPerCheckpoint: 8 });
    expect(engine.deleted).toEqual([join(workDirectory, "step-8"), join(workDirectory, "step-16")]);
  });

  it("reports its steps in order, ends after the checkpoint is written, and closes its trainer", async () => {
    const engine = tableEngine({ vocabulary: 8 });
    const job = policyJob(engine, "checkpoint");
    let standing: boolean | undefined;
    job.onEvent = (event) => {
      job.events.push(event);
      if (event.type === "training_ended") standing = existsSync(job.directory);
    };
    const result = await run(job);
    expect(result).toEqual({
      weights: {
        baseModel: "random:table",
        checkpoint: job.directory,
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
      gradientSteps: 20,
      trainedTokens: 160,
    });
    expect(job.events.map(({ type }) => type)).toEqual([
      "training_started",
      ...Array.from({ length: 20 }, () => "gradient_step"),
      "training_ended",
    ]);
    expect(job.events[0]?.data).toMatchObject({ num_sequences: 20, num_datums: 40, num_trainable_tokens: 160 });
    expect(job.events.slice(1, -1).map(({ data }) => data["gradient_step"])).toEqual([...Array(20).keys()]);
    expect(standing).toBe(true);
    const trainer = await engine.openTrainer({ weights: result.weights, seed: 0 });
    await trainer.close();
  });

  it("is bitwise reproducible for a seed, and differs for another", async () => {
    const first = policyJob(tableEngine({ vocabulary: 8 }), "first");
    const again = policyJob(tableEngine({ vocabulary: 8 }), "again");
    const other = { ...policyJob(tableEngine({ vocabulary: 8 }), "other"), seed: 12 };
    for (const job of [first, again, other]) await run(job);
    expect(await bits("again")).toBe(await bits("first"));
    expect(untimed(again.events)).toEqual(untimed(first.events));
    expect(await bits("other")).not.toBe(await bits("first"));
  });

  it.each([
    [{}, 20],
    [{ precalculate_logprobs: true, kl_penalty_coef: 0.1, kl_penalty_source: "sample" }, 20],
    // Scored in several parts.
    [{ precalculate_logprobs: true, kl_penalty_coef: 0.1, packed_sequence_length: 2100 }, 7],
    [{ kl_loss_coef: 0.1, num_epochs: 2, mini_batch_size: 8, learning_rate_schedule: "cosine" }, 40],
  ])("is paused after each step, and ends with the same weights and events: %j", async (config, pauses) => {
    const engine = tableEngine({ vocabulary: 8 });
    const job = (name: string) => {
      const rejected = policyJob(engine, name, config);
      if (!("packed_sequence_length" in config)) return rejected;
      const prompt = 1000;
      const rollouts = rejected.rollouts.map(({ sequences, ...rollout }) => ({
        ...rollout,
        sequences: sequences.map(({ tokens, mask, oldLogprobs }) => ({
          tokens: Int32Array.from([...new Int32Array(prompt).fill(5), ...tokens]),
          mask: Uint8Array.from([...new Uint8Array(prompt), ...mask]),
          oldLogprobs: Float64Array.from([...new Float64Array(prompt).fill(NaN), ...oldLogprobs]),
        })),
      }));
      return { ...rejected, rollouts };
    };
    const whole = job("whole");
    await run(whole);
    const sliced = job("sliced");
    let [runs, ready] = [0, 0];
    for (let isDone = false; !isDone; runs++) {
      const reported = {
        started: sliced.events.length > 0,
        gradientSteps: sliced.events.filter(({ type }) => type === "gradient_step").length,
      };
      const slice = { ...sliced, workDirectory: join(directory, "work"), reported };
      isDone = await run({ ...slice, shouldPause: () => true, onReady: () => void (ready += 1) }).then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject({ code: "aborted", details: { reason: "paused" } });
          return false;
        },
      );
    }
    expect(runs).toBe(pauses);
    expect(ready).toBeGreaterThanOrEqual(runs);
    expect(await bits("sliced")).toBe(await bits("whole"));
    expect(untimed(sliced.events)).toEqual(untimed(whole.events));
    expect(existsSync(join(directory, "work"))).toBe(false);
  });

  it("notices a divergence that began before a pause", async () => {
    const state = divergenceWatch(8);
    expect(state.check(0, 1, -0.5)).toBe(false);
    expect(state.check(1, 3, -3)).toBe(true);
    const later = divergenceWatch(8, JSON.parse(JSON.stringify(state.state)) as DivergenceState);
    expect(() => later.check(2, 3, -3)).toThrow(/diverged/i);
  });

  it.each([
    [{}],
    [{ precalculate_logprobs: true }],
    [{ precalculate_logprobs: true, kl_penalty_coef: 0.1, kl_penalty_source: "sample" }],
    [{ kl_loss_coef: 0.1, num_epochs: 2, packed_sequence_length: 24, learning_rate_schedule: "cosine" }],
    [{ kl_penalty_coef: 0.1 }],
  ])("resumes after an interruption with the same weights and events: %j", async (config) => {
    const whole = policyJob(tableEngine({ vocabulary: 8 }), "whole", config);
    await run(whole);

    const workDirectory = join(directory, "work");
    const halted = {
      ...policyJob(tableEngine({ vocabulary: 8 }), "resumed", config),
      workDirectory,
      stepsPerCheckpoint: 3,
    };
    halted.engine = Object.assign(tableEngine({ vocabulary: 8 }), {
      beforeApply: (steps: number) => {
        if (steps === 8) throw new Error("the process died");
      },
    });
    await expect(run(halted)).rejects.toThrow("the process died");
    expect(halted.events).toHaveLength(1 + 8);

    const engine = tableEngine({ vocabulary: 8 });
    const resumed = { ...policyJob(engine, "resumed", config), workDirectory, stepsPerCheckpoint: 3 };
    await run({ ...resumed, reported: { started: true, gradientSteps: 8 } });
    expect(engine.applied).toHaveLength(20 - 6);
    expect(engine.opened).toHaveLength(1);
    expect(engine.opened[0]?.weights.checkpoint).toBe(join(workDirectory, "step-6"));
    expect(await bits("resumed")).toBe(await bits("whole"));
    expect(untimed([...halted.events, ...resumed.events])).toEqual(untimed(whole.events));
    expect(await readdir(directory)).toEqual(["resumed", "whole"]);
  });

  it("recomputes files that are corrupt after an interruption", async () => {
    const config = { precalculate_logprobs: true };
    const whole = policyJob(tableEngine({ vocabulary: 8 }), "whole", config);
    await run(whole);
    const workDirectory = join(directory, "work");
    const engine = Object.assign(tableEngine({ vocabulary: 8 }), {
      beforeApply: (steps: number) => {
        if (steps === 4) throw new Error("the process died");
      },
    });
    const job = { ...policyJob(engine, "resumed", config), workDirectory, stepsPerCheckpoint: 2 };
    await expect(run(job)).rejects.toThrow("died");
    await writeFile(join(workDirectory, "first-logprobs.numbers"), "lost");
    await writeFile(join(workDirectory, "step-6.part"), "half");
    const again = { ...job, engine: tableEngine({ vocabulary: 8 }) };
    await run(again);
    expect(again.engine.opened.map(({ weights }) => weights.checkpoint)).toEqual([
      undefined,
      join(workDirectory, "step-4"),
    ]);
    expect(await bits("resumed")).toBe(await bits("whole"));
  });

  it("interrupted before its end was reported only reports the end", async () => {
    const workDirectory = join(directory, "work");
    const job = { ...policyJob(tableEngine({ vocabulary: 8 }), "checkpoint"), workDirectory };
    const report = job.onEvent;
    job.onEvent = (event) => {
      if (event.type === "training_ended") throw new Error("the database is away");
      return report(event);
    };
    await expect(run(job)).rejects.toThrow("the database is away");
    const engine = tableEngine({ vocabulary: 8 });
    const again = { ...policyJob(engine, "checkpoint"), workDirectory, reported: { started: true, gradientSteps: 20 } };
    await run(again);
    expect(again.events.map(({ type }) => type)).toEqual(["training_ended"]);
    expect(engine.opened).toEqual([]);
    expect(existsSync(workDirectory)).toBe(false);
  });

  it("refuses the state of another job and a directory that exists", async () => {
    const workDirectory = join(directory, "work");
    const engine = Object.assign(tableEngine({ vocabulary: 8 }), {
      beforeApply: () => {
        throw new Error("the process died");
      },
    });
    await expect(run({ ...policyJob(engine, "a"), workDirectory })).rejects.toThrow("died");
    const other = { ...policyJob(tableEngine({ vocabulary: 8 }), "b", { ppo: true }), workDirectory };
    await expect(run(other)).rejects.toThrow("belongs to another job");
    await writeFile(join(workDirectory, "job.json"), "{");
    await expect(run(other)).rejects.toMatchObject({ code: "corrupt", details: { file: "job.json" } });

    await writeFile(join(directory, "taken"), "");
    await expect(run(policyJob(tableEngine({ vocabulary: 8 }), "taken"))).rejects.toThrow("already exists");
    await expect(run({ ...policyJob(tableEngine(), "c"), workDirectory: directory })).rejects.toThrow("not empty");
  });

  it("ends within a step when it is cancelled, and leaves no checkpoint", async () => {
    const controller = new AbortController();
    const engine = tableEngine({ vocabulary: 8 });
    engine.beforeApply = (steps) => steps === 4 && controller.abort();
    const job = { ...policyJob(engine, "checkpoint"), signal: controller.signal };
    await expect(run(job)).rejects.toMatchObject({ code: "aborted" });
    expect(engine.applied).toHaveLength(5);
    expect(await readdir(directory)).toEqual([]);
    expect(job.events.at(-1)?.type).toBe("gradient_step");
  });
});
