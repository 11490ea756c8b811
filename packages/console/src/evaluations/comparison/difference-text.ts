import type { EvalScoreDifference } from "@heddle/client/tracing";
import { scoreText } from "../score-text.js";

/** With its sign: `+0.03`, `−0.7`, `0`. */
export function signedText(value: number): string {
  const text = scoreText(Math.abs(value));
  if (value === 0) return "0";
  return `${value < 0 ? "−" : "+"}${text}`;
}

/** Half of the interval: `±0.02`; empty where there is none. */
export function halfText({ low, high }: Pick<EvalScoreDifference, "low" | "high">): string {
  return low === null || high === null ? "" : `±${scoreText((high - low) / 2)}`;
}

/** Whether the rows do not show that the runs differ. */
export const isNoise = ({ low, high }: Pick<EvalScoreDifference, "low" | "high">): boolean =>
  low === null || high === null || (low <= 0 && high >= 0);

/** Runs are named by letters: the base run is A. */
export const letterOf = (run: number): string => "ABCD".charAt(run);

/** What a value of so many trials is in a cell: `✓`, `✗`, `2 of 3 ✓`, `0.3`. */
export function valueText(value: number, type: string | null | undefined, trials: number): string {
  if (type !== "binary") return scoreText(value);
  if (value === 1) return "✓";
  if (value === 0) return "✗";
  const passed = value * trials;
  return Math.abs(passed - Math.round(passed)) < 1e-6
    ? `${Math.round(passed)} of ${trials} ✓`
    : `${scoreText(value)} ✓`;
}
