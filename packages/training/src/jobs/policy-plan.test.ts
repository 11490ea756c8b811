import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TableEngine } from "../../test/table-engine.js";
import { tableEngine } from "../../test/table-engine.js";
import { runGradientSteps } from "./gradient-loop.js";
import type { TrainingJobEvent } from "./training-job.js";
import type { PolicyJob } from "./policy-job.js";
import { policyPlan } from "./policy-plan.js";
import { rlConfig } from "./rl-config.js";

let directory: string;
let engine: TableEngine;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "heddle-policy-"));
  engine = tableEngine({ vocabulary: 8 });
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** After token 0 the model samples 1, 2, 3 or 4; only 1 has a high reward. All had the probability 1/8. */
async function learn(
  config: Record<string, unknown>,
  change: Partial<PolicyJob> = {},
): Promise<{ data: Record<string, number>[]; logprobs: (token: number) => number; events: TrainingJobEvent[] }> {
  const events: TrainingJobEvent[] = [];
  const old = change.from ? NaN : -Math.log(8);
  const job: PolicyJob = {
    engine,
    from: { baseModel: "random:table" },
    directory: join(directory, `checkpoint-${engine.opened.length}`),
    seed: 1,
    onEvent: (event) => void events.push(event),
    settings: rlConfig(config),
    rollouts: [1, 2, 3, 4].map((token) => ({
      group: 0,
      advantage: token === 1 ? 0.75 : -0.25,
      sequences: [
        {
          tokens: Int32Array.from([5, 0, token]),
          mask: Uint8Array.from([0, 0, 1]),
          oldLogprobs: Float64Array.from([NaN, NaN, old]),
        },
      ],
    })),
    learningRateFactor: 1,
    constants: { num_groups_submitted: 1 },
    ...change,
  };
  const { weights } = await runGradientSteps(job, policyPlan(job));
  const trainer = await engine.openTrainer({ weights, seed: 0 });
  const sequences = [...Array(8).keys()].map((token) => ({
    tokens: Int32Array.from([5, 0, token]),
    mask: Uint8Array.from([0, 0, 1]),
  }));
  const scored = await trainer.logprobs(sequences);
  await trainer.close();
  const data = events.flatMap((event) => (event.type === "gradient_step" ? [event.data] : []));
  return { data, events, logprobs: (token) => scored[token]?.[2] ?? NaN };
}

describe("learning from rollouts", () => {
  it.each([[{}], [{ ppo: true }], [{ importance_sampling_level: "sequence", ppo: true }], [{ kl_penalty_coef: 0.01 }]])(
    "makes what was good more likely and the rest less: %j",
    async (config) => {
      const { logprobs } = await learn({ learning_rate: 0.1, packed_sequence_length: 3, ...config });
      expect(logprobs(1)).toBeGreaterThan(-Math.log(8) + 0.05);
      for (const bad of [2, 3, 4]) expect(logprobs(bad)).toBeLessThan(logprobs(5));
    },
  );

  it("reports finite metrics of every step", async () => {
    const { data } = await learn({ kl_penalty_coef: 0.1 });
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({
      loss: expect.closeTo(0, 9),
      grad_norm: expect.any(Number),
      learning_rate: 5e-4,
      entropy: expect.closeTo(Math.log(8), 9),
      kl_policy_ref: 0,
      approx_kl: expect.closeTo(0, 9),
      clip_fraction: 0,
      num_datums: 4,
      num_tokens: 12,
      num_trainable_tokens: 4,
      num_groups_submitted: 1,
      gradient_step: 0,
    });
    expect(Object.values(data[0] ?? {}).every(Number.isFinite)).toBe(true);
    expect(data[0]).not.toHaveProperty("policy_loss");
  });

  it("scales the learning rate by a factor, and by the number of sequences if configured", async () => {
    const { data } = await learn(
      { num_trajectories_learning_rate_multiplier_power: 0.5 },
      { learningRateFactor: 0.25 },
    );
    expect(data[0]?.["learning_rate"]).toBeCloseTo(5e-4 * 2 * 0.25, 12);
  });

  it("computes ratios against the job's initial weights if they are precalculated", async () => {
    const plain = await learn({ learning_rate: 0.1, packed_sequence_length: 3 });
    expect(plain.data[0]).toMatchObject({ importance_ratio_mean: expect.closeTo(1, 9) });
    expect(plain.data[1]?.["importance_ratio_mean"]).not.toBeCloseTo(1, 3);
    // The same old log-probabilities again, which are far from those of the trained weights.
    const from = (await learnt()).weights;
    const stale = await learn({ packed_sequence_length: 3 }, { from });
    const fresh = await learn({ packed_sequence_length: 3, precalculate_logprobs: true }, { from });
    expect(fresh.data[0]?.["importance_ratio_mean"]).toBeCloseTo(1, 9);
    expect(stale.data[0]?.["importance_ratio_mean"]).toBeCloseTo(1, 9);
    expect(fresh.data[0]).toHaveProperty("approx_kl");
    expect(stale.data[0]).not.toHaveProperty("approx_kl");
  });

  it("stays close to the reference policy", async () => {
    const from = (await learnt()).weights;
    const config = { learning_rate: 0.1, kl_penalty_coef: 5, kl_penalty_reference_step: 3 };
    const free = await learn({ learning_rate: 0.1 }, { from });
    const asked: unknown[] = [];
    const toBase = await learn(config, {
      from,
      referenceWeights: async (reference) => {
        asked.push(reference);
        return { baseModel: "random:table" };
      },
    });
    expect(asked).toEqual([{ step: 3 }]);
    expect(toBase.logprobs(1)).toBeLessThan(free.logprobs(1));
    expect(toBase.data[0]?.["kl_policy_ref"]).not.toBeCloseTo(0, 2);
    await expect(learn(config)).rejects.toMatchObject({
      code: "unsupported",
      loc: ["config", "kl_penalty_reference_step"],
    });
  });

  async function learnt() {
    const job = { learning_rate: 0.5, packed_sequence_length: 3 };
    await learn(job);
    return {
      weights: { baseModel: "random:table", checkpoint: join(directory, `checkpoint-${engine.opened.length - 2}`) },
    };
  }
});
