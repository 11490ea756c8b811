import { formatValue, settingsTable } from "./settings-table.js";

export interface SftConfig {
  /** Rows per optimizer step. */
  batchSize: number;
  /** One for all batches, or one per batch. Absent: the default of the base model. */
  learningRate?: number | number[];
  assistantTurns: "all" | "last";
  /** Names of settings that this engine ignores. */
  unknownSettings: string[];
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
    unknownSettings: table.unread(),
  };
  if (Array.isArray(settings.learningRate)) {
    const batches = Math.ceil(rows / settings.batchSize);
    if (settings.learningRate.length !== batches) {
      const made = `${rows} rows make ${batches} batches of ${settings.batchSize}`;
      throw table.refuse("learning_rate", `has ${settings.learningRate.length} values, but ${made}.`);
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
