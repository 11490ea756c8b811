import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { exportStarter } from "../scripts/training/export.js";
import { scoreByLogprobs } from "../scripts/training/held-out.js";
import { learningRate } from "../scripts/training/learning-rate.js";
import { RowPacker } from "../scripts/training/rows.js";
import { sizeNamed } from "../scripts/training/sizes.js";
import { starterDirectory } from "../scripts/training/starter-files.js";
import { keepState, latestState } from "../scripts/training/work-directory.js";
import { initialWeights } from "../src/weights/initial-weights.js";
import { loadModel } from "../src/weights/model-directory.js";

const config = { ...sizeNamed("d96"), hiddenSize: 32, layers: 1, heads: 1, keyValueHeads: 1, feedForwardSize: 32 };

describe("a training run of the starter", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "heddle-starter-"));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const state = (steps: number) => {
    const weights = initialWeights(config, steps);
    const optimizer = {
      steps,
      first: weights.flat.map((each) => each / 3),
      second: weights.flat.map((each) => each * each),
    };
    return { config, weights, optimizer };
  };

  test("resumes from its newest state, and keeps only two", async () => {
    expect(await latestState(directory, config)).toBeUndefined();
    for (const steps of [500, 1000, 1500]) await keepState(directory, state(steps), starterDirectory, 1);
    const found = await latestState(directory, config);
    expect(found?.weights.flat).toEqual(state(1500).weights.flat);
    expect(found?.optimizer).toEqual(state(1500).optimizer);
    expect((await readdir(directory)).toSorted()).toEqual(["step-001000", "step-001500"]);
  });

  test("does not resume with weights of another shape", async () => {
    await keepState(directory, state(500), starterDirectory, 1);
    await expect(latestState(directory, sizeNamed("d128"))).rejects.toThrow("is not a state of this run");
  });

  test("replaces the shipped weights and nothing else", async () => {
    const shipped = join(directory, "starter");
    for (const file of ["tokenizer.json", "tokenizer_config.json", "generation_config.json", "config.json"]) {
      await cp(join(starterDirectory, file), join(shipped, file));
    }
    const { weights } = state(1);
    await exportStarter(shipped, { config, weights });
    expect(await readdir(directory)).toEqual(["starter"]);
    const written = await loadModel(shipped);
    expect(written.config).toEqual(config);
    for (const [at, value] of weights.flat.entries()) {
      expect(Math.abs((written.weights.flat[at] ?? 0) - value)).toBeLessThanOrEqual(Math.abs(value) / 256);
    }
    const tokenizer = await readFile(join(shipped, "tokenizer.json"), "utf8");
    expect(tokenizer).toBe(await readFile(join(starterDirectory, "tokenizer.json"), "utf8"));
  });
});

describe("the learning rate", () => {
  test("rises, stays constant and falls to almost zero", () => {
    const plan = { steps: 100, peak: 0.5, warmUp: 10, decay: 20 };
    expect([0, 4, 9, 50, 80, 90, 99].map((index) => learningRate(plan, index))).toEqual([
      0.05, 0.25, 0.5, 0.5, 0.5, 0.25, 0.025,
    ]);
  });

  test("does not depend on the number of steps before it falls", () => {
    const shorter = { steps: 100, peak: 0.5, warmUp: 10, decay: 20 };
    for (let index = 0; index <= 80; index++) {
      expect(learningRate({ ...shorter, steps: 5000 }, index)).toBe(learningRate(shorter, index));
    }
  });
});

describe("rows of examples", () => {
  const example = (length: number) => ({ tokens: Array.from({ length }, (_, at) => at), answer: length - 1 });

  test("leave as little padding as possible", () => {
    const packer = new RowPacker(10, 2);
    expect([6, 7, 3, 4].map((length) => packer.add(example(length)))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    const batch = packer.add(example(5));
    expect(batch?.map(({ tokens }) => tokens.length)).toEqual([10, 10]);
    expect(batch?.map(({ mask }) => [...mask].filter((each) => each === 0).length)).toEqual([2, 2]);
  });

  test("refuse an example longer than a row", () => {
    expect(() => new RowPacker(10, 2).add(example(11))).toThrow("11 tokens in rows of 10");
  });
});

test("an answer counts as certain when every token of it has more than half of the probability", async () => {
  const examples = [
    { tokens: [1, 2, 3], answer: 1 },
    { tokens: [1, 2, 3], answer: 2 },
  ];
  const results = [Float64Array.of(NaN, -0.1, -0.7), Float64Array.of(NaN, NaN, -0.2)];
  const scores = await scoreByLogprobs([{ task: "copy", examples }], () => Promise.resolve(results));
  expect(scores).toEqual([{ task: "copy", loss: expect.closeTo(1 / 3, 12), certain: 0.5 }]);
});
