import { describe, expect, it } from "vitest";
import { rlConfig } from "./rl-config.js";
import { sftConfig } from "./sft-config.js";

describe("the settings of a reinforcement learning job", () => {
  it("have their defaults for null, as a whole or for each", () => {
    const defaults = {
      policy: { ppo: false, epsilon: 1, epsilonHigh: 4, importanceSamplingLevel: "token", maskProbRatio: false },
      scaleRewards: true,
      advantageBalance: 0,
      precalculateLogprobs: false,
      allowTrainingWithoutLogprobs: false,
      learningRatePower: 0,
      scaleLearningRateByRewardDeviation: false,
      unknownSettings: [],
    };
    expect(rlConfig(undefined)).toEqual(defaults);
    expect(rlConfig(null)).toEqual(defaults);
    const names = [
      "learning_rate",
      "ppo",
      "epsilon",
      "epsilon_high",
      "kl_penalty_coef",
      "scale_rewards",
      "modelname_k2_tau",
    ];
    expect(rlConfig(Object.fromEntries(names.map((name) => [name, null])))).toEqual(defaults);
  });

  it("are read", () => {
    expect(
      rlConfig({
        learning_rate: 1e-5,
        loss_fn: "ppo",
        epsilon: 0.1,
        importance_sampling_level: "geometric_average",
        max_negative_advantage_importance_sampling_weight: 3,
        mask_prob_ratio: true,
        kimi_k2_tau: 0.2,
        advantage_balance: -0.5,
        normalize_advantages: false,
        precalculate_logprobs: true,
        truncated_importance_sampling: 2,
        kl_penalty_coef: 0.05,
        kl_penalty_source: "sample",
        kl_penalty_step_lag: 2,
        allow_training_without_logprobs: true,
        num_trajectories_learning_rate_multiplier_power: 0.5,
        scale_learning_rate_by_reward_std_dev: true,
        packed_sequence_length: 4096,
        logprob_calculation_chunk_size: 512,
        plot_tensors: true,
        loss_aggregation: "constant_length",
        loss_constant_length: 512,
        kl_loss_coef: 0.1,
        kl_loss_estimator: "k1",
        num_epochs: 2,
        mini_batch_size: 16,
        learning_rate_schedule: "cosine",
        learning_rate_warmup_steps: 3,
        learning_rate_final_fraction: 0.1,
        learning_rate_total_steps: 50,
        mask_truncated_completions: true,
        max_policy_lag: 0,
        turn_rewards: true,
        something_new: 1,
      }),
    ).toEqual({
      learningRate: 1e-5,
      policy: {
        ppo: true,
        epsilon: 0.1,
        epsilonHigh: 0.1,
        importanceSamplingLevel: "geometric_average",
        maxNegativeAdvantageImportanceSamplingWeight: 3,
        maskProbRatio: true,
        k2Tau: 0.2,
        truncatedImportanceSampling: 2,
        klLoss: { coefficient: 0.1, estimator: "k1" },
      },
      scaleRewards: false,
      advantageBalance: -0.5,
      precalculateLogprobs: true,
      klPenalty: { coefficient: 0.05, source: "sample", reference: { lag: 2 } },
      allowTrainingWithoutLogprobs: true,
      learningRatePower: 0.5,
      scaleLearningRateByRewardDeviation: true,
      tokensPerStep: 4096,
      lossAggregation: { name: "constant_length", length: 512 },
      klLoss: { reference: { lag: 2 } },
      passes: 2,
      sequencesPerStep: 16,
      learningRateSchedule: { shape: "cosine", warmUpSteps: 3, finalFraction: 0.1, totalSteps: 50 },
      maskTruncatedCompletions: true,
      maxPolicyLag: 0,
      turnRewards: true,
      unknownSettings: ["something_new"],
    });
  });

  it.each([
    [{ learning_rate: NaN }, "learning_rate must be a number from 0 to 1, not NaN."],
    [{ learning_rate: "1e-5" }, 'learning_rate must be a number from 0 to 1, not "1e-5".'],
    [{ learning_rate: -1 }, "learning_rate must be a number from 0 to 1, not -1."],
    [{ epsilon: Infinity }, "epsilon must be a number from 0 to 1000000000, not Infinity."],
    [{ advantage_balance: 1.5 }, "advantage_balance must be a number from -1 to 1, not 1.5."],
    [{ ppo: 1 }, "ppo must be true or false, not 1."],
    [{ importance_sampling_level: "word" }, 'not "word".'],
    [{ packed_sequence_length: 1.5 }, "packed_sequence_length must be an integer, not 1.5."],
    [{ ppo: true, loss_fn: "cispo" }, "loss_fn says cispo, but ppo is true."],
    [{ modelname_k2_tau: 1, kimi_k2_tau: 2 }, "kimi_k2_tau is an alias of modelname_k2_tau; their values differ."],
    [
      { kl_penalty_reference_step: 1, kl_penalty_step_lag: 1 },
      "kl_penalty_step_lag excludes kl_penalty_reference_step.",
    ],
    [{ kl_loss_estimator: "k2" }, 'kl_loss_estimator must be one of k1, k3, not "k2".'],
    [{ num_epochs: 0 }, "num_epochs must be a number from 1 to 100, not 0."],
    [{ learning_rate_schedule: "step" }, "learning_rate_schedule must be one of constant, linear, cosine"],
    [{ max_policy_lag: -1 }, "max_policy_lag must be a number from 0"],
    [{ loss_aggregation: "constant_length" }, "loss_aggregation constant_length needs loss_constant_length"],
    [{ loss_constant_length: 5 }, "loss_constant_length needs loss_aggregation constant_length."],
    [[], "The settings must be an object."],
  ])("refuse %j and name it", (config, message) => {
    expect(() => rlConfig(config)).toThrow(message);
    const loc = Array.isArray(config) ? [] : [Object.keys(config).at(-1)];
    expect(() => rlConfig(config)).toThrow(expect.objectContaining({ code: "invalid", loc }));
  });
});

describe("the settings of a supervised job", () => {
  it("have their defaults", () => {
    const defaults = { batchSize: 2, assistantTurns: "all", unknownSettings: [] };
    expect(sftConfig(null, 5)).toEqual(defaults);
    expect(sftConfig({ batch_size: "auto", learning_rate: null, metric_logging: { enabled: true } }, 5)).toEqual(
      defaults,
    );
    expect(sftConfig({ batch_size: 4, assistant_turns: "last", extra: 0 }, 5)).toEqual({
      batchSize: 4,
      assistantTurns: "last",
      unknownSettings: ["extra"],
    });
  });

  it("say what is evaluated, and how often", () => {
    const settings = { validation_fraction: 0.2, eval_steps: 3, early_stopping_patience: 2 };
    expect(sftConfig(settings, 5).validation).toEqual({ fraction: 0.2, everySteps: 3, patience: 2 });
    expect(sftConfig({ validation_fraction: 0 }, 5).validation).toBeUndefined();
    // One of five rows is not trained.
    expect(sftConfig({ validation_fraction: 0.2, learning_rate: [1e-3, 1e-3] }, 5).learningRate).toHaveLength(2);
    expect(() => sftConfig({ validation_fraction: 0.5, learning_rate: [1, 1, 1] }, 5)).toThrow(
      "learning_rate has 3 values, but 2 rows make 1 batches of 2.",
    );
  });

  it.each([
    [{ validation_fraction: 1 }, "validation_fraction must be a number from 0 to 0.9, not 1."],
    [{ validation_data_url: "a", validation_fraction: 0.1 }, "validation_fraction excludes validation_data_url."],
    [{ eval_steps: 0, validation_fraction: 0.1 }, "eval_steps must be a number from 1"],
    [{ eval_steps: 5 }, "eval_steps needs rows to evaluate: set validation_fraction or validation_data_url."],
    [{ validation_fraction: 0, early_stopping_patience: 1 }, "early_stopping_patience needs rows to evaluate"],
  ])("refuse %j", (config, message) => {
    expect(() => sftConfig(config, 5)).toThrow(message);
  });

  it("take one learning rate for each batch, and exactly as many", () => {
    expect(sftConfig({ learning_rate: [1e-3, 2e-3, 0] }, 5).learningRate).toEqual([1e-3, 2e-3, 0]);
    expect(() => sftConfig({ learning_rate: [1e-3] }, 5)).toThrow(
      "learning_rate has 1 values, but 5 rows make 3 batches of 2.",
    );
    expect(() => sftConfig({ learning_rate: [1e-3, null, 1] }, 5)).toThrow(
      expect.objectContaining({ code: "invalid", loc: ["config", "learning_rate", 1] }),
    );
    expect(() => sftConfig({ batch_size: 0 }, 5)).toThrow("batch_size must be a number from 1");
  });
});
