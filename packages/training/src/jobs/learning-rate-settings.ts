import type { LearningRateSchedule } from "../objective/learning-rate-schedule.js";
import type { SettingsTable } from "./settings-table.js";

/** Reads the schedule of the learning rate; undefined where it is constant. */
export function learningRateSchedule(table: SettingsTable): LearningRateSchedule | undefined {
  const shape = table.choice("learning_rate_schedule", ["constant", "linear", "cosine"]) ?? "constant";
  const warmUpSteps = table.integer("learning_rate_warmup_steps", { min: 0, max: 2 ** 31 }) ?? 0;
  const finalFraction = table.number("learning_rate_final_fraction", { min: 0, max: 1 }) ?? 0;
  const totalSteps = table.integer("learning_rate_total_steps", { min: 1, max: 2 ** 31 });
  return shape === "constant" && warmUpSteps === 0 ? undefined : { shape, warmUpSteps, finalFraction, totalSteps };
}
