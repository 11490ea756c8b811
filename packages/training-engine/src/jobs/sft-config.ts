import { settingsTable } from "./settings-table.js";

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
 * `invalid` with the setting's path.
 */
export function sftConfig(value: unknown, rows: number, path = "config"): SftConfig {
  const table = settingsTable(value, path);
  const batchSize =
    table.any("batch_size") === "auto" ? undefined : table.integer("batch_size", { min: 1, max: 2 ** 31 });
  const assistantTurns = table.choice("assistant_turns", ["all", "last"]);
  table.any("metric_logging");
  const config: SftConfig = {
    batchSize: batchSize ?? 2,
    learningRate: learningRate(),
    assistantTurns: assistantTurns ?? "all",
    unknownSettings: table.unread(),
  };
  if (Array.isArray(config.learningRate)) {
    const batches = Math.ceil(rows / config.batchSize);
    if (config.learningRate.length !== batches) {
      const made = `${rows} rows make ${batches} batches of ${config.batchSize}`;
      throw table.refuse("learning_rate", `has ${config.learningRate.length} values, but ${made}.`);
    }
  }
  return config;

  function learningRate(): number | number[] | undefined {
    const given = table.any("learning_rate");
    if (!Array.isArray(given)) return table.number("learning_rate", learningRates);
    const rates = settingsTable(Object.fromEntries(given.entries()), `${path}.learning_rate`);
    return given.map((_, at) => {
      const rate = rates.number(String(at), learningRates);
      if (rate === undefined) throw rates.refuse(String(at), "must be a number, not null.");
      return rate;
    });
  }
}
