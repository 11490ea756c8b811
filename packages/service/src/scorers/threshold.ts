import type { ParameterSchema } from "./scorer-class.js";

/** For classes whose score is a share. */
export const thresholdParameter = {
  type: "number",
  minimum: 0,
  maximum: 1,
  description: "The least score that passes. Without it, the result has no `passed`.",
} as const satisfies ParameterSchema;

export const thresholdResult = { passed: "whether the score reaches the threshold" };

export function withPassed(score: number, threshold: number | undefined): { score: number; passed?: boolean } {
  return threshold === undefined ? { score } : { score, passed: score >= threshold };
}
