import { policySettings } from "../objective/policy-settings.js";
import type { LearningRateSchedule } from "../objective/learning-rate-schedule.js";
import type { LossAggregation } from "../objective/token-weights.js";
import type { PolicySettings } from "../port.js";
import { learningRateSchedule } from "./learning-rate-settings.js";
import type { SettingsTable } from "./settings-table.js";
import { settingsTable } from "./settings-table.js";

/** Reference weights of the KL penalty and the KL loss. At most one field is set; none means the base model. */
export interface ReferencePolicy {
  step?: number;
  /** Number of steps before the weights that the job starts from, at most back to step 0. */
  lag?: number;
  /** Address of weights, resolved by the caller. */
  adapterPath?: string;
}

export interface RlConfig {
  /** Absent: the default of the base model. */
  learningRate?: number;
  policy: PolicySettings;
  scaleRewards: boolean;
  advantageBalance: number;
  precalculateLogprobs: boolean;
  klPenalty?: { coefficient: number; source: "sample" | "current_learner"; reference: ReferencePolicy };
  /** Where the reference of the KL loss is, whose other settings are those of the policy. */
  klLoss?: { reference: ReferencePolicy };
  /** Absent: `per_sequence`. */
  lossAggregation?: LossAggregation;
  allowTrainingWithoutLogprobs: boolean;
  /** Absent: completions that were cut off at their limit of tokens are trained like others. */
  maskTruncatedCompletions?: boolean;
  /** By how many steps the weights of a turn may be older than those that the job starts from. Absent: by any. */
  maxPolicyLag?: number;
  /** Absent: rewards of single turns are not read. */
  turnRewards?: boolean;
  /** The learning rate is multiplied by (sequences of the step) ^ this. */
  learningRatePower: number;
  scaleLearningRateByRewardDeviation: boolean;
  /** Absent: the learning rate is constant. */
  learningRateSchedule?: LearningRateSchedule;
  /** Maximum tokens per optimizer step. Absent: derived from the longest sequence. */
  tokensPerStep?: number;
  /** Maximum sequences per optimizer step. Absent: limited by the tokens only. */
  sequencesPerStep?: number;
  /** How often the job passes over its sequences. Absent: once. */
  passes?: number;
  /** Names of settings that this engine ignores. */
  unknownSettings: string[];
}

const nonNegative = { min: 0, max: 1e9 };

/**
 * Reads `experimental_config`. Null, for the object or a setting, means the default. Throws `invalid` with the
 * setting.
 */
export function rlConfig(value: unknown): RlConfig {
  const table = settingsTable(value, []);
  const ppo = table.flag("ppo");
  const lossName = table.choice("loss_fn", ["cispo", "ppo"]);
  if (ppo !== undefined && lossName !== undefined && ppo !== (lossName === "ppo")) {
    throw table.refuse("loss_fn", `says ${lossName}, but ppo is ${ppo}.`);
  }
  // Accepted without effect: they control memory use and debugging of other engines.
  table.integer("logprob_calculation_chunk_size", { min: 1, max: 2 ** 31 });
  table.flag("plot_tensors");
  // Whoever makes the job has replaced the rewards by it.
  table.text("ranking");

  const coefficient = table.number("kl_penalty_coef", nonNegative) ?? 0;
  const source = table.choice("kl_penalty_source", ["current_learner", "sample"]) ?? "current_learner";
  const named = {
    kl_penalty_reference_step: table.integer("kl_penalty_reference_step", { min: 0, max: 2 ** 31 }),
    kl_penalty_step_lag: table.integer("kl_penalty_step_lag", { min: 1, max: 2 ** 31 }),
    kl_ref_adapter_path: table.text("kl_ref_adapter_path"),
  };
  const [first, second] = Object.entries(named).flatMap(([name, each]) => (each === undefined ? [] : [name]));
  if (second !== undefined) throw table.refuse(second, `excludes ${first}.`);

  const klLoss = table.number("kl_loss_coef", nonNegative) ?? 0;
  const estimator = table.choice("kl_loss_estimator", ["k1", "k3"]) ?? "k3";
  const reference = {
    step: named.kl_penalty_reference_step,
    lag: named.kl_penalty_step_lag,
    adapterPath: named.kl_ref_adapter_path,
  };

  const aggregation = lossAggregation(table);
  const scaleRewards = table.flag("scale_rewards") ?? true;
  const config: RlConfig = {
    learningRate: table.number("learning_rate", { min: 0, max: 1 }),
    policy: policySettings({
      ppo: ppo ?? lossName === "ppo",
      epsilon: table.number("epsilon", nonNegative),
      epsilonHigh: table.number("epsilon_high", nonNegative),
      importanceSamplingLevel: table.choice("importance_sampling_level", [
        "token",
        "sequence",
        "average",
        "geometric_average",
      ]),
      maxNegativeAdvantageImportanceSamplingWeight: table.number(
        "max_negative_advantage_importance_sampling_weight",
        nonNegative,
      ),
      maskProbRatio: table.flag("mask_prob_ratio"),
      k2Tau: table.number(["modelname_k2_tau", "kimi_k2_tau"], nonNegative),
      truncatedImportanceSampling: table.number("truncated_importance_sampling", nonNegative),
      ...(klLoss > 0 && { klLoss: { coefficient: klLoss, estimator } }),
    }),
    scaleRewards: (table.flag("normalize_advantages") ?? scaleRewards) && scaleRewards,
    advantageBalance: table.number("advantage_balance", { min: -1, max: 1 }) ?? 0,
    precalculateLogprobs: table.flag("precalculate_logprobs") ?? false,
    allowTrainingWithoutLogprobs: table.flag("allow_training_without_logprobs") ?? false,
    learningRatePower: table.number("num_trajectories_learning_rate_multiplier_power", { min: -10, max: 10 }) ?? 0,
    scaleLearningRateByRewardDeviation: table.flag("scale_learning_rate_by_reward_std_dev") ?? false,
    tokensPerStep: table.integer("packed_sequence_length", { min: 1, max: 2 ** 31 }),
    sequencesPerStep: table.integer("mini_batch_size", { min: 1, max: 2 ** 31 }),
    passes: table.integer("num_epochs", { min: 1, max: 100 }),
    learningRateSchedule: learningRateSchedule(table),
    maskTruncatedCompletions: table.flag("mask_truncated_completions") || undefined,
    maxPolicyLag: table.integer("max_policy_lag", { min: 0, max: 2 ** 31 }),
    turnRewards: table.flag("turn_rewards") || undefined,
    unknownSettings: table.unread(),
  };
  if (coefficient > 0) config.klPenalty = { coefficient, source, reference };
  if (klLoss > 0) config.klLoss = { reference };
  if (aggregation) config.lossAggregation = aggregation;
  return config;
}

function lossAggregation(table: SettingsTable): LossAggregation | undefined {
  const name = table.choice("loss_aggregation", ["per_sequence", "token_mean", "constant_length"]);
  const length = table.integer("loss_constant_length", { min: 1, max: 2 ** 31 });
  if (name !== "constant_length") {
    if (length !== undefined) throw table.refuse("loss_constant_length", "needs loss_aggregation constant_length.");
    return name === "token_mean" ? { name } : undefined;
  }
  if (length !== undefined) return { name, length };
  throw table.refuse(
    "loss_aggregation",
    "constant_length needs loss_constant_length, such as max_tokens of the samples.",
  );
}
