import type { DpoSettings } from "../objective/dpo-loss.js";
import type { KtoSettings } from "../objective/kto-loss.js";
import type { LearningRateSchedule } from "../objective/learning-rate-schedule.js";
import { learningRateSchedule } from "./learning-rate-settings.js";
import type { SettingsTable } from "./settings-table.js";
import { settingsTable } from "./settings-table.js";

export interface PreferenceConfig {
  objective: DpoSettings | KtoSettings;
  /** Pairs or ratings per optimizer step. */
  batchSize: number;
  /** How often the job passes over its rows. */
  passes: number;
  /** Whether each pass has an order of its own. If not, it is that of the file. */
  shuffle: boolean;
  /** Absent: the default of the base model. */
  learningRate?: number;
  /** Absent: the learning rate is constant. */
  learningRateSchedule?: LearningRateSchedule;
  /** Names of settings that this engine ignores. */
  unknownSettings: string[];
}

const weights = { min: 0, max: 1e6 };

/**
 * Reads the `config` of a job that learns preferences. Null, for the object or a setting, means the default. Throws
 * `invalid` with the location of the setting.
 */
export function preferenceConfig(config: unknown): PreferenceConfig {
  const table = settingsTable(config, ["config"]);
  const objective = table.choice("objective", ["dpo", "kto"]) ?? "dpo";
  const beta = table.number("beta", { min: 0, max: 1e6 }) ?? 0.1;
  const settings: PreferenceConfig = {
    objective: objective === "dpo" ? dpoSettings(table, beta) : ktoSettings(table, beta),
    batchSize: table.integer("batch_size", { min: 1, max: 2 ** 31 }) ?? 8,
    passes: table.integer("num_epochs", { min: 1, max: 100 }) ?? 1,
    shuffle: table.flag("shuffle") ?? true,
    learningRate: table.number("learning_rate", { min: 0, max: 1 }),
    learningRateSchedule: learningRateSchedule(table),
    unknownSettings: table.unread(),
  };
  if (beta === 0) throw table.refuse("beta", "must be above 0.");
  if (objective === "kto" && settings.batchSize < 2)
    throw table.refuse("batch_size", "must be at least 2: kto compares the answers of a batch.");
  return settings;
}

function dpoSettings(table: SettingsTable, beta: number): DpoSettings {
  for (const name of ["desirable_weight", "undesirable_weight"])
    if (table.any(name) !== undefined) throw table.refuse(name, "needs the objective kto.");
  const labelSmoothing = table.number("label_smoothing", { min: 0, max: 0.5 }) ?? 0;
  if (labelSmoothing === 0.5) throw table.refuse("label_smoothing", "must be below 0.5.");
  const lengthNormalization = table.flag("length_normalization") ?? false;
  if (lengthNormalization && labelSmoothing > 0)
    throw table.refuse("length_normalization", "excludes label_smoothing.");
  return { name: "dpo", beta, labelSmoothing, lengthNormalization };
}

function ktoSettings(table: SettingsTable, beta: number): KtoSettings {
  for (const name of ["label_smoothing", "length_normalization"])
    if (table.any(name) !== undefined) throw table.refuse(name, "needs the objective dpo.");
  const desirableWeight = table.number("desirable_weight", weights) ?? 1;
  const undesirableWeight = table.number("undesirable_weight", weights) ?? 1;
  if (desirableWeight + undesirableWeight === 0)
    throw table.refuse("undesirable_weight", "is 0, as is desirable_weight: nothing would be trained.");
  return { name: "kto", beta, desirableWeight, undesirableWeight };
}
