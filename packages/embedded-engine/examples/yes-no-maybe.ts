/**
 * Reinforcement learning on one-word answers through the engine's port, used by `rl.ts` and, in a shorter form, by a
 * test.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { groupAdvantages, optimizerDefaults, policySettings, tokenWeights, trainedTokens } from "@heddle/training";
import type { TrainingEngine, Completion, PolicySequence, WeightsRef } from "@heddle/training";
import type { ChatTemplate } from "@heddle/chat-format";

const words = ["yes", "no", "maybe"];
const orders = words.flatMap((first) =>
  words
    .filter((word) => word !== first)
    .map((second) => [first, second, ...words.filter((word) => word !== first && word !== second)]),
);

/** The same request in 24 wordings: two openings, with and without quotes, every order of the words. */
const prompts = ["respond with", "just respond with"].flatMap((prefix) =>
  orders.flatMap((order) => [
    `${prefix} ${order.join(", ")}`,
    `${prefix} ${order.map((word) => `'${word}'`).join(", ")}`,
  ]),
);

/** Any text other than the word alone has the reward 0. */
const rewards: ReadonlyMap<string, number> = new Map([
  ["yes", 0.5],
  ["no", 0.75],
  ["maybe", 1],
]);

export interface LearningRun {
  engine: TrainingEngine;
  template: ChatTemplate;
  /** Directory for the checkpoints of the run. Only the last one is kept. */
  directory: string;
  steps: number;
  /** Prompts per step, and answers per prompt. */
  groups: number;
  samples: number;
  seed: number;
}

export interface LearningStep {
  step: number;
  meanReward: number;
  answers: string[];
  weights: WeightsRef;
}

/**
 * One optimizer step for each round of answers: sample from the newest weights, reward, learn, save. The first step's
 * reward is that of the untrained starter.
 */
export async function* learnFromRewards(run: LearningRun): AsyncGenerator<LearningStep, void> {
  const { engine, template, directory, steps, groups, samples, seed } = run;
  const baseModel = "heddle/starter";
  const optimizer = optimizerDefaults(baseModel, "rl");
  let weights: WeightsRef = { baseModel };
  const trainer = await engine.openTrainer({ weights, seed });
  try {
    for (let step = 0; step < steps; step++) {
      const answered = await Promise.all(
        Array.from({ length: groups }, async (_, group) => {
          // Adjacent prompts differ only by quotes. 5 and 24 have no common factor, so all prompts are used.
          const content = prompts[((step * groups + group) * 5) % prompts.length];
          const { ids: prompt } = await template.render({ messages: [{ role: "user", content }] });
          const request = {
            weights,
            prompt,
            n: samples,
            maxTokens: 12,
            seed: seed + (step * groups + group) * samples,
          };
          const { completions } = await engine.sampler.generate(request);
          return { prompt, completions, earned: completions.map(({ text }) => rewards.get(text.trim()) ?? 0) };
        }),
      );
      const sequences = policySequences(answered);
      if (sequences.length > 0) {
        const normalizer = sequences.reduce((sum, sequence) => sum + trainedTokens(sequence), 0);
        await trainer.forwardBackward({ name: "policy", sequences, settings: policySettings({}), normalizer });
        await trainer.optimStep(optimizer);
        const newer = await trainer.exportWeights(join(directory, `step-${step + 1}`));
        await engine.sampler.unload(weights);
        if (weights.checkpoint) await rm(weights.checkpoint, { recursive: true });
        weights = newer;
      }
      const earned = answered.flatMap((group) => group.earned);
      yield {
        step,
        meanReward: earned.reduce((sum, each) => sum + each, 0) / earned.length,
        answers: answered.flatMap(({ completions }) => completions.map(({ text }) => text)),
        weights,
      };
    }
  } finally {
    await trainer.close();
  }
}

interface Answered {
  prompt: Int32Array;
  completions: Completion[];
  earned: number[];
}

/** The answers of groups with different rewards. */
function policySequences(groups: Answered[]): PolicySequence[] {
  const chosen = groups.flatMap(({ prompt, completions, earned }) => {
    const { advantages, trainable } = groupAdvantages(earned, true);
    if (!trainable) return [];
    return completions.map(({ tokens }, at) => ({ prompt, tokens, advantage: advantages[at] ?? 0 }));
  });
  const scales = tokenWeights(
    chosen.map(({ advantage, tokens }) => ({ advantage, trainedTokens: tokens.length })),
    0,
  );
  return chosen.map(({ prompt, tokens }, at) => {
    const length = prompt.length + tokens.length;
    const oldLogprobs = new Float64Array(length).fill(Number.NaN);
    oldLogprobs.set(
      tokens.map(({ logprob }) => logprob),
      prompt.length,
    );
    return {
      tokens: Int32Array.from([...prompt, ...tokens.map(({ token }) => token)]),
      mask: new Uint8Array(length).fill(1, prompt.length),
      weights: new Float64Array(length).fill(scales[at]?.weight ?? 0),
      advantages: new Float64Array(length).fill(scales[at]?.advantage ?? 0),
      oldLogprobs,
    };
  });
}
