import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { learningCurve } from "../examples/learning-curve.js";
import type { OpenedModel } from "../examples/open-model.js";
import { openModel } from "../examples/open-model.js";
import { askAll, learnAnswers, pairs } from "../examples/question-pairs.js";
import { learnFromRewards } from "../examples/yes-no-maybe.js";

const mean = (values: number[]): number => values.reduce((sum, each) => sum + each, 0) / values.length;

describe("the shipped starter", () => {
  let model: OpenedModel;
  beforeAll(async () => {
    model = await openModel("heddle/starter");
  });
  afterAll(() => model.close());

  test("gets higher rewards within a dozen steps of reinforcement learning", async () => {
    const run = { ...model, steps: 12, groups: 8, samples: 8, seed: 3 };
    const rewards: number[] = [];
    for await (const { meanReward } of learnFromRewards(run)) rewards.push(meanReward);
    expect(mean(rewards.slice(-5)) - mean(rewards.slice(0, 1))).toBeGreaterThanOrEqual(0.15);
  }, 120_000);

  test("reproduces answers it was trained on", async () => {
    const losses: number[] = [];
    const onStep = (_: number, loss: number): void => void losses.push(loss);
    const weights = await learnAnswers({ ...model, baseModel: "heddle/starter", steps: 30, onStep });
    const answers = await askAll(model.engine, model.template, weights);
    expect(losses.at(-1)).toBeLessThan(0.1);
    expect(pairs.filter(([, answer], at) => answers[at] === answer).length).toBeGreaterThanOrEqual(14);
  }, 120_000);
});

test("a learning curve is drawn within its picture", () => {
  const picture = learningCurve("Reward", [0, 0.5, 2], 1);
  const heights = [...picture.matchAll(/cy="([\d.]+)"/gu)].map(([, height]) => Number(height));
  expect(heights).toEqual([280, 160, 40]);
  expect(picture).toContain("Reward");
});
