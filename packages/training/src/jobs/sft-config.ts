import type { SettingsTable } from "./settings-table.js";
import { formatValue, settingsTable } from "./settings-table.js";

export interface SftConfig {
  /** Rows per optimizer step. */
  batchSize: number;
  /** One for all batches, or one per batch. Absent: the default of the base model. */
  learningRate?: number | number[];
  assistantTurns: "all" | "last";
  /** Absent: nothing is evaluated. */
  validation?: ValidationSettings;
  /** Names of settings that this engine ignores. */
  unknownSettings: string[];
}

export interface ValidationSettings {
  /** Part of the rows that is held out. Absent: the rows for evaluation are those of another file. */
  fraction?: number;
  /** Steps between evaluations. Absent: a tenth of all steps. */
  everySteps?: number;
  /** Evaluations in a row without a lower loss that end the training. Absent: it does not end early. */
  patience?: number;
  /** Whether the result is the weights of the best evaluation, not those of the last step. */
  keepsBest?: boolean;
}

/** How many of the rows a fraction holds out for evaluation. */
export function heldOutCount(rows: number, { fraction = 0 }: ValidationSettings = {}): number {
  return Math.ceil(rows * fraction);
}

const learningRates = { min: 0, max: 1 };

/**
 * Reads the `config` of a supervised job with `rows` rows. Null, for the object or a setting, means the default. Throws
 * `invalid` with the location of the setting.
 */
export function sftConfig(config: unknown, rows: number): SftConfig {
  const table = settingsTable(config, ["config"]);
  const batchSize =
    table.any("batch_size") === "auto" ? undefined : table.integer("batch_size", { min: 1, max: 2 ** 31 });
  const assistantTurns = table.choice("assistant_turns", ["all", "last"]);
  table.any("metric_logging");
  const settings: SftConfig = {
    batchSize: batchSize ?? 2,
    learningRate: learningRate(),
    assistantTurns: assistantTurns ?? "all",
    ...validationSettings(table),
    unknownSettings: table.unread(),
  };
  if (Array.isArray(settings.learningRate)) {
    const trained = rows - heldOutCount(rows, settings.validation);
    const batches = Math.ceil(trained / settings.batchSize);
    if (settings.learningRate.length !== batches) {
      const counts = `${trained} rows make ${batches} batches of ${settings.batchSize}`;
      throw table.refuse("learning_rate", `has ${settings.learningRate.length} values, but ${counts}.`);
    }
  }
  return settings;

  function learningRate(): number | number[] | undefined {
    const given = table.any("learning_rate");
    const { min, max } = learningRates;
    if (!Array.isArray(given)) return table.number("learning_rate", learningRates);
    return given.map((rate: unknown, index) => {
      if (typeof rate === "number" && rate >= min && rate <= max) return rate;
      throw table.refuse("learning_rate", `must be a number from ${min} to ${max}, not ${formatValue(rate)}.`, index);
    });
  }
}

function validationSettings(table: SettingsTable): { validation?: ValidationSettings } {
  const otherFile = table.text("validation_data_url");
  const fraction = table.number("validation_fraction", { min: 0, max: 0.9 });
  if (otherFile !== undefined && fraction !== undefined)
    throw table.refuse("validation_fraction", "excludes validation_data_url.");
  const given = {
    eval_steps: table.integer("eval_steps", { min: 1, max: 2 ** 31 }),
    early_stopping_patience: table.integer("early_stopping_patience", { min: 1, max: 2 ** 31 }),
    keep_best_weights: table.flag("keep_best_weights"),
  };
  // A fraction of 0 holds out nothing.
  if (otherFile !== undefined || (fraction ?? 0) > 0) {
    const { eval_steps: everySteps, early_stopping_patience: patience, keep_best_weights: keepsBest } = given;
    return { validation: { fraction, everySteps, patience, ...(keepsBest === true && { keepsBest }) } };
  }
  const [useless] = Object.entries(given).flatMap(([name, each]) =>
    each === undefined || each === false ? [] : [name],
  );
  if (useless === undefined) return {};
  throw table.refuse(useless, "needs rows to evaluate: set validation_fraction or validation_data_url.");
}
