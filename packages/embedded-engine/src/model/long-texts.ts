import type { ModelConfig } from "./config.js";

// LongRoPE (Ding et al., arXiv 2402.13753) rotates by other divisors as soon as a text is longer than the original context, and then
// all of it: also its beginning is read otherwise than as a text of its own.

/** Whether a text of so many tokens is one that a model computes as a long one. */
export function isLongText({ rotaryScaling }: ModelConfig, tokens: number): boolean {
  return rotaryScaling?.type === "longrope" && tokens > rotaryScaling.originalContextLength;
}

/** Whether a text of so many tokens is the longest one that is not: with the next token, all before it is computed again. */
export function isLongestShortText({ rotaryScaling }: ModelConfig, tokens: number): boolean {
  return rotaryScaling?.type === "longrope" && tokens === rotaryScaling.originalContextLength;
}

/** The model as it computes long texts, or short ones. */
export function ofTexts(config: ModelConfig, { areLong }: { areLong: boolean }): ModelConfig {
  const { rotaryScaling } = config;
  if (!areLong || rotaryScaling?.type !== "longrope") return config;
  return { ...config, rotaryScaling: { ...rotaryScaling, divisors: rotaryScaling.longDivisors } };
}
