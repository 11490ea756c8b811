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

  it.each([
    [{}, 8],
    [{ loss_aggregation: "token_mean" }, 8],
    [{ loss_aggregation: "constant_length", loss_constant_length: 5 }, 2 * 5],
  ])("adds up the losses of tokens as configured: %j", async (config, divisor) => {
    const answers = [
      { advantage: 1, tokens: [0, 1, 2, 3, 4, 5, 6] },
      { advantage: -0.5, tokens: [0, 7, 7] },
    ];
    const rollouts = answers.map(({ advantage, tokens }) => ({
      group: 0,
      advantage,
      sequences: [
        {
          tokens: Int32Array.from(tokens),
          mask: Uint8Array.from(tokens, (_, t) => (t > 0 ? 1 : 0)),
          oldLogprobs: Float64Array.from(tokens, (_, t) => (t > 0 ? -Math.log(8) : NaN)),
        },
      ],
    }));
    const { data } = await learn(config, { rollouts });
    // Every token has the probability 1/8. Per sequence, weights are 8 / (2 * length), and advantages have mean size 1.
    const perSequence = 4 * Math.log(8) * (-1 + 0.5) * (8 / (4 + 4 / 2));
    const perToken = Math.log(8) * (6 - 2 * 0.5);
    const sum = "loss_aggregation" in config ? perToken : -perSequence;
    expect(data[0]?.["loss"]).toBeCloseTo(sum / divisor, 5);
    expect(data[0]).toMatchObject({ num_trainable_tokens: 8, entropy: expect.closeTo(Math.log(8), 5) });
  });

  it("stays close to the reference by a term of the loss", async () => {
    const from = (await learnt()).weights;
    const reference = { kl_penalty_reference_step: 3, learning_rate: 0.1, num_epochs: 5 };
    const change = { from, referenceWeights: async () => ({ baseModel: "random:table" }) };
    const free = await learn(reference, change);
    const held = await learn({ ...reference, kl_loss_coef: 5 }, change);
    expect(free.data[0]).not.toHaveProperty("kl_loss");
    expect(held.data[0]?.["kl_loss"]).toBeGreaterThan(0.01);
    expect(held.data.at(-1)!["kl_loss"]).toBeLessThan(held.data[0]!["kl_loss"]!);
    expect(held.logprobs(1)).toBeLessThan(free.logprobs(1));
    await expect(learn({ kl_loss_coef: 1, kl_penalty_step_lag: 1 })).rejects.toMatchObject({ code: "unsupported" });
  });

  it("passes over the data several times, with ratios to the samples", async () => {
    const { data, logprobs } = await learn({ learning_rate: 0.1, num_epochs: 3, mini_batch_size: 2, ppo: true });
    expect(data.map(({ num_datums }) => num_datums)).toEqual([2, 2, 2, 2, 2, 2]);
    expect(data[0]).toMatchObject({ importance_ratio_mean: expect.closeTo(1, 9) });
    expect(data.at(-1)!["importance_ratio_std"]).toBeGreaterThan(0.01);
    const once = await learn({ learning_rate: 0.1, mini_batch_size: 2, ppo: true });
    expect(logprobs(1)).toBeGreaterThan(once.logprobs(1));
  });

  it("follows a schedule over the steps of the job, or over those of the model", async () => {
    const rates = async (config: Record<string, unknown>, change: Partial<PolicyJob> = {}) =>
      (await learn({ learning_rate: 0.1, mini_batch_size: 2, num_epochs: 2, ...config }, change)).data.map(
        ({ learning_rate }) => learning_rate,
      );
    const schedule = { learning_rate_schedule: "linear", learning_rate_warmup_steps: 1 };
    expect(await rates(schedule)).toEqual([0.05, 0.1, 0.1 * (2 / 3), 0.1 / 3].map((rate) => expect.closeTo(rate, 12)));
    const over = { ...schedule, learning_rate_total_steps: 5 };
    expect(await rates(over, { fromStep: 3 })).toEqual(Array(4).fill(expect.closeTo(0.05, 12)));
    expect(await rates(over, { fromStep: 9 })).toEqual([0, 0, 0, 0]);
  });

  it("gives turns advantages of their own", async () => {
    const rollouts = [1, -1].map((sign) => ({
      group: 0,
      advantage: 0,
      sequences: [
        {
          tokens: Int32Array.from([0, 1, 0, 2]),
          mask: Uint8Array.from([0, 1, 0, 1]),
          oldLogprobs: Float64Array.from([NaN, -Math.log(8), NaN, -Math.log(8)]),
          turnAdvantages: Float64Array.from([0, 2 * sign, 0, -sign / 2]),
        },
      ],
    }));
    const { logprobs } = await learn({ learning_rate: 0.1 }, { rollouts: rollouts.slice(0, 1) });
    expect(logprobs(1)).toBeGreaterThan(logprobs(5));
    expect(logprobs(2)).toBeLessThan(logprobs(5));
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
