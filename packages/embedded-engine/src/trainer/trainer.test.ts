import type { Loc } from "@heddle/errors";
import { createHash } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { locOf } from "@heddle/errors/testing";
import { randomWeights, smallLlama, uniform } from "../../test/random-models.js";
import type { ParameterSet } from "../model/parameters.js";
import { adapterParameters, modelParameters } from "../model/parameters.js";
import type { Objective, OptimizerSettings, PolicySequence, CrossEntropySequence } from "@heddle/training";
import type { CpuTrainer, CpuTrainerSettings } from "./trainer.js";
import { createCpuTrainer } from "./trainer.js";

const config = { ...smallLlama, vocabularySize: 40, hiddenSize: 16, headSize: 8, feedForwardSize: 24 };
const adam: OptimizerSettings = {
  learningRate: 0.01,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.1,
  maxGradientNorm: 1,
};
const memoryBytes = 2 ** 30;

const opened: CpuTrainer[] = [];
afterEach(async () => {
  for (const trainer of opened.splice(0)) await trainer.close();
});

async function open(changes: Partial<CpuTrainerSettings> = {}): Promise<CpuTrainer> {
  const weights = randomWeights(modelParameters(changes.config ?? config), 1);
  const trainer = await createCpuTrainer({ config, weights, memoryBytes, threads: 1, ...changes });
  opened.push(trainer);
  return trainer;
}

function supervised(lengths: number[], seed = 5): Objective & { name: "cross_entropy" } {
  const random = uniform(seed);
  const sequences = lengths.map((length): CrossEntropySequence => ({
    tokens: Int32Array.from({ length }, () => Math.floor(random() * config.vocabularySize)),
    mask: new Uint8Array(length).fill(1, 1),
  }));
  return { name: "cross_entropy", sequences, normalizer: lengths.reduce((sum, length) => sum + length - 1, 0) };
}

function policy(lengths: number[], seed = 5): Objective & { name: "policy" } {
  const { sequences, normalizer } = supervised(lengths, seed);
  const random = uniform(seed + 1);
  return {
    name: "policy",
    sequences: sequences.map((sequence): PolicySequence => {
      const each = (value: () => number) => Float64Array.from(sequence.tokens, value);
      const advantage = random() * 2 - 1;
      return { ...sequence, weights: each(() => 1), advantages: each(() => advantage), oldLogprobs: each(() => -3.5) };
    }),
    normalizer,
    settings: {
      ppo: false,
      epsilon: 1,
      epsilonHigh: 4,
      importanceSamplingLevel: "sequence",
      maskProbRatio: false,
    },
  };
}

function hash({ flat }: ParameterSet): string {
  return createHash("sha256")
    .update(new Uint8Array(flat.buffer, flat.byteOffset, flat.byteLength))
    .digest("hex");
}

async function steps(trainer: CpuTrainer, from: number, to: number): Promise<void> {
  for (let step = from; step < to; step++) {
    await trainer.forwardBackward(step % 2 === 0 ? supervised([9, 3, 17], step) : policy([5, 12], step));
    await trainer.optimStep(adam);
  }
}

describe("training", () => {
  test("memorises its sequences", async () => {
    const trainer = await open();
    const objective = supervised([9, 5]);
    const first = await trainer.forwardBackward(objective);
    for (let step = 0; step < 80; step++) {
      await trainer.forwardBackward(objective);
      await trainer.optimStep({ ...adam, weightDecay: 0 });
    }
    const last = await trainer.forwardBackward(objective);
    expect(first.loss).toBeGreaterThan(3);
    expect(last.loss).toBeLessThan(0.05);
    expect(last.metrics).toMatchObject({ trained_tokens: 12 });
  });

  test("is bitwise reproducible, also after resuming from saved moments", async () => {
    const once = await open();
    const again = await open();
    await steps(once, 0, 6);
    await steps(again, 0, 3);
    const resumed = await open({
      weights: { ...again.weights, ...copied(again.weights) },
      optimizer: structuredClone(again.optimizer),
    });
    await steps(again, 3, 6);
    await steps(resumed, 3, 6);
    expect(hash(again.weights)).toBe(hash(once.weights));
    expect(hash(resumed.weights)).toBe(hash(once.weights));
    expect(resumed.optimizer.steps).toBe(6);
  });

  test("several calls with a common normalizer compute one mean", async () => {
    const whole = await open();
    const parts = await open();
    const objective = supervised([9, 4, 30, 6]);
    const { loss } = await whole.forwardBackward(objective);
    const losses: number[] = [];
    for (const sequence of objective.sequences) {
      losses.push((await parts.forwardBackward({ ...objective, sequences: [sequence] })).loss);
    }
    expect(losses.reduce((a, b) => a + b)).toBeCloseTo(loss, 6);
    const norms = await Promise.all([whole, parts].map((trainer) => trainer.optimStep(adam)));
    expect(norms[1]!.gradientNorm).toBeCloseTo(norms[0]!.gradientNorm, 5);
    whole.weights.flat.forEach((value, i) => expect(Math.abs(parts.weights.flat[i]! - value)).toBeLessThan(2e-4));
  });

  test("a policy's log-probabilities are those it is scored with, and a uniform model has the entropy of its vocabulary", async () => {
    const trainer = await open();
    trainer.weights.flat.fill(0);
    const objective = policy([6, 11]);
    const { logprobs, entropies } = await trainer.forwardBackward(objective, { entropy: true });
    const scored = await trainer.logprobs(objective.sequences);
    expect(logprobs).toEqual(scored);
    expect(entropies?.[1]?.[0]).toBeNaN();
    expect(entropies?.[1]?.[4]).toBeCloseTo(Math.log(40), 5);
    expect(logprobs[0]?.[3]).toBeCloseTo(-Math.log(40), 5);
  });

  test("padding and neighbours do not change a sequence", async () => {
    const trainer = await open();
    const { sequences } = supervised([40, 7, 21]);
    const together = await trainer.logprobs(sequences);
    for (const [index, sequence] of sequences.entries()) {
      const [alone] = await trainer.logprobs([sequence]);
      alone!.forEach((value, i) => i > 0 && expect(value).toBeCloseTo(together[index]![i]!, 5));
    }
  });

  test("weight decay applies to matrices only and scales with the learning rate", async () => {
    const trainer = await open();
    const before = copied(trainer.weights);
    await trainer.forwardBackward({ name: "cross_entropy", sequences: [], normalizer: 1 });
    await trainer.optimStep({ ...adam, learningRate: 0.5, weightDecay: 0.1 });
    const of = (set: Pick<ParameterSet, "views">, name: string) => set.views.get(name)![3]!;
    expect(of(trainer.weights, "layers.0.down")).toBeCloseTo(of(before, "layers.0.down") * 0.95, 6);
    expect(of(trainer.weights, "final_norm")).toBe(of(before, "final_norm"));
  });

  test("a new adapter does not change log-probabilities, and training changes only the adapter", async () => {
    const plain = await open();
    const shape = { rank: 4, alpha: 8, targets: ["q" as const, "down" as const] };
    const set = randomWeights(adapterParameters(config, shape), 3);
    for (const [name, view] of set.views) if (name.endsWith(".b")) view.fill(0);
    const adapted = await open({ adapter: { config: shape, set } });
    const objective = supervised([12, 8]);
    expect(await adapted.logprobs(objective.sequences)).toEqual(await plain.logprobs(objective.sequences));
    const { loss } = await adapted.forwardBackward(objective);
    for (let step = 0; step < 15; step++) {
      await adapted.optimStep(adam);
      await adapted.forwardBackward(objective);
    }
    expect((await adapted.forwardBackward(objective)).loss).toBeLessThan(loss - 0.3);
    expect(hash(adapted.weights)).toBe(hash(plain.weights));
  });
});

describe("with little memory", () => {
  const long = { ...config, contextLength: 512 };
  const objective = supervised([400, 30, 390]);

  test("activations are recomputed, with the same gradient", async () => {
    const unlimited = await open({ config: long });
    const narrow = await open({ config: long, memoryBytes: 8_000_000 });
    const all = await unlimited.forwardBackward(objective);
    const again = await narrow.forwardBackward(objective);
    expect(again.loss).toBeCloseTo(all.loss, 6);
    await unlimited.optimStep(adam);
    await narrow.optimStep(adam);
    narrow.optimizer.first.forEach((value, i) => {
      expect(Math.abs(value - unlimited.optimizer.first[i]!)).toBeLessThan(1e-6);
    });
  });

  test("a sequence that still exceeds the memory is refused with both sizes", async () => {
    const trainer = await open({ config: long, memoryBytes: 3_000_000 });
    await expect(trainer.forwardBackward(objective)).rejects.toMatchObject({
      code: "too_large",
      loc: ["sequences", 0, "tokens"],
      message: expect.stringMatching(/400 tokens .* \d+ bytes, and \d+/),
    });
    expect((await trainer.forwardBackward(supervised([30]))).loss).toBeGreaterThan(0);
  });

  test("a model that exceeds the memory is not opened", async () => {
    await expect(open({ memoryBytes: 100_000 })).rejects.toMatchObject({ code: "too_large" });
  });
});

describe("invalid input is refused with its location, and the trainer continues", () => {
  const cases: [string, (objective: Objective & { name: "policy" }) => void, { code: string; loc: Loc }][] = [
    ["a token outside the vocabulary", ({ sequences }) => (sequences[1]!.tokens[4] = 40), at("sequences.1.tokens.4")],
    ["a negative token", ({ sequences }) => (sequences[0]!.tokens[2] = -1), at("sequences.0.tokens.2")],
    [
      "more tokens than the context",
      ({ sequences }) => {
        sequences[1]!.tokens = new Int32Array(65);
        sequences[1]!.mask = new Uint8Array(65);
      },
      { code: "too_large", loc: ["sequences", 1, "tokens"] },
    ],
    ["a mask of another length", ({ sequences }) => (sequences[0]!.mask = new Uint8Array(3)), at("sequences.0.mask")],
    ["a mask of neither 0 nor 1", ({ sequences }) => (sequences[0]!.mask[2] = 2), at("sequences.0.mask.2")],
    ["a trained first token", ({ sequences }) => (sequences[0]!.mask[0] = 1), at("sequences.0.mask.0")],
    ["a NaN advantage", ({ sequences }) => (sequences[1]!.advantages[3] = NaN), at("sequences.1.advantages.3")],
    ["an infinite weight", ({ sequences }) => (sequences[0]!.weights[1] = Infinity), at("sequences.0.weights.1")],
    [
      "log-probabilities of another length",
      ({ sequences }) => (sequences[1]!.oldLogprobs = new Float64Array(2)),
      at("sequences.1.oldLogprobs"),
    ],
    [
      "an infinite log-probability",
      ({ sequences }) => (sequences[1]!.oldLogprobs[2] = -Infinity),
      at("sequences.1.oldLogprobs.2"),
    ],
    [
      "segments of another length",
      ({ sequences }) => (sequences[1]!.segments = new Int32Array(2)),
      at("sequences.1.segments"),
    ],
    [
      "a KL loss without a reference",
      ({ settings }) => (settings.klLoss = { coefficient: 1, estimator: "k3" }),
      at("sequences.0.referenceLogprobs"),
    ],
    [
      "an unknown log-probability of the reference",
      ({ sequences, settings }) => {
        settings.klLoss = { coefficient: 1, estimator: "k3" };
        for (const each of sequences) each.referenceLogprobs = new Float64Array(each.tokens.length).fill(NaN);
      },
      at("sequences.0.referenceLogprobs.1"),
    ],
    ["a normalizer of nothing", (objective) => (objective.normalizer = 0), at("normalizer")],
  ];

  test.each(cases)("%s", async (_name, spoil, expected) => {
    const trainer = await open();
    const objective = policy([7, 9]);
    spoil(objective);
    await expect(trainer.forwardBackward(objective)).rejects.toMatchObject(expected);
    expect((await trainer.forwardBackward(policy([7, 9]))).metrics["trained_tokens"]).toBe(14);
  });

  test("a call without trained tokens has no effect", async () => {
    const trainer = await open();
    const empty = { tokens: Int32Array.of(), mask: Uint8Array.of() };
    const unmasked = { tokens: Int32Array.of(1, 2, 3), mask: new Uint8Array(3) };
    for (const sequences of [[], [empty, unmasked]]) {
      const { loss, logprobs } = await trainer.forwardBackward({ name: "cross_entropy", sequences, normalizer: 0 });
      expect(loss).toBe(0);
      expect(logprobs).toEqual(sequences.map(({ tokens }) => new Float64Array(tokens.length).fill(NaN)));
    }
  });

  test("invalid optimizer settings", async () => {
    const trainer = await open();
    await trainer.forwardBackward(supervised([8]));
    await expect(trainer.optimStep({ ...adam, beta2: 1 })).rejects.toMatchObject({ code: "invalid", loc: ["beta2"] });
    await expect(trainer.optimStep({ ...adam, learningRate: NaN })).rejects.toMatchObject({ loc: ["learningRate"] });
    expect((await trainer.optimStep(adam)).gradientNorm).toBeGreaterThan(0);
  });

  test("moments of another model", async () => {
    const optimizer = { steps: 1, first: new Float32Array(3), second: new Float32Array(3) };
    await expect(open({ optimizer })).rejects.toMatchObject({ code: "invalid", loc: ["optimizer"] });
  });

  test("diverged weights fail the call, and the step changes nothing", async () => {
    const trainer = await open();
    const { weights, optimizer } = trainer;
    weights.flat[5] = NaN;
    const objective = supervised([7, 7]);
    objective.sequences[0]!.tokens[0] = 0;
    await expect(trainer.forwardBackward(objective)).rejects.toMatchObject({ code: "failed" });
    weights.flat[5] = 1;
    // A gradient that overflows although the loss is finite.
    objective.sequences[0]!.weights = new Float64Array(7).fill(1e38);
    await trainer.forwardBackward({ ...objective, normalizer: 1e-3 });
    const before = hash(weights);
    await expect(trainer.optimStep(adam)).rejects.toMatchObject({ code: "failed" });
    expect(hash(weights)).toBe(before);
    expect(optimizer.steps).toBe(0);
    expect(optimizer.first.every((value) => value === 0)).toBe(true);
    expect((await trainer.optimStep({ ...adam, weightDecay: 0 })).gradientNorm).toBe(0);
  });
});

describe("an abort", () => {
  test("takes effect between batches and discards the gradient", async () => {
    const trainer = await open();
    const objective = supervised(Array.from({ length: 100 }, () => 60));
    const controller = new AbortController();
    const seen: number[] = [];
    const aborted = trainer.forwardBackward(objective, {
      signal: controller.signal,
      onProgress(tokens) {
        seen.push(tokens);
        if (seen.length === 2) controller.abort();
      },
    });
    await expect(aborted).rejects.toMatchObject({ code: "aborted" });
    expect(seen).toEqual([16 * 59, 32 * 59]);
    expect((await trainer.optimStep(adam)).gradientNorm).toBe(0);
    await expect(trainer.logprobs(objective.sequences, controller.signal)).rejects.toMatchObject({ code: "aborted" });
  });
});

describe("several threads", () => {
  // With a small epsilon, the first steps are the signs of gradients, also of those that are only rounding.
  const smooth = { ...adam, epsilon: 1 };
  // Large enough for a second thread to be used.
  const large = { ...config, hiddenSize: 64, headSize: 32, feedForwardSize: 192, vocabularySize: 1000, layers: 3 };
  const objective = supervised(Array.from({ length: 30 }, (_, i) => 40 + (i % 20)));

  test("compute the gradient of one thread reproducibly, and can be aborted", async () => {
    const alone = await open({ config: large });
    const [first, second] = [await open({ config: large, threads: 2 }), await open({ config: large, threads: 2 })];
    for (let step = 0; step < 2; step++) {
      const progress: number[] = [];
      const one = await alone.forwardBackward(objective);
      const two = await first.forwardBackward(objective, { onProgress: (tokens) => progress.push(tokens) });
      expect(two.loss).toBeCloseTo(one.loss, 5);
      expect(two.metrics).toEqual(one.metrics);
      expect(progress.at(-1)).toBe(objective.normalizer);
      await second.forwardBackward(objective);
      const [norm, other] = [await alone.optimStep(smooth), await first.optimStep(smooth)];
      expect(other.gradientNorm).toBeCloseTo(norm.gradientNorm, 5);
      expect(await second.optimStep(smooth)).toEqual(other);
    }
    expect(hash(second.weights)).toBe(hash(first.weights));
    const scores = await first.logprobs(objective.sequences);
    (await alone.logprobs(objective.sequences)).forEach((expected, i) =>
      expected.forEach((value, j) => j > 0 && expect(Math.abs(scores[i]![j]! - value)).toBeLessThan(1e-4)),
    );
  });

  test("a progress callback that throws fails only its call", async () => {
    const trainer = await open({ config: large, threads: 2 });
    const onProgress = () => {
      throw new RangeError("no bar to draw");
    };
    await expect(trainer.forwardBackward(objective, { onProgress })).rejects.toThrow("no bar to draw");
    expect((await trainer.forwardBackward(objective)).loss).toBeGreaterThan(0);
  });

  test("an adapter is trained by several threads", async () => {
    const shape = { rank: 4, alpha: 8, targets: ["v" as const, "up" as const] };
    const of = () => ({ config: shape, set: randomWeights(adapterParameters(large, shape), 3) });
    const [alone, two] = [
      await open({ config: large, adapter: of() }),
      await open({ config: large, adapter: of(), threads: 2 }),
    ];
    for (let step = 0; step < 2; step++) {
      const { loss } = await alone.forwardBackward(objective);
      expect((await two.forwardBackward(objective)).loss).toBeCloseTo(loss, 5);
      expect((await two.optimStep(smooth)).gradientNorm).toBeCloseTo((await alone.optimStep(smooth)).gradientNorm, 5);
    }
  });

  test("a failing one stops the others, and the next call works", async () => {
    const trainer = await open({ config: large, threads: 2 });
    const before = trainer.weights.flat.slice();
    trainer.weights.flat.fill(NaN);
    await expect(trainer.forwardBackward(objective)).rejects.toMatchObject({ code: "failed" });
    trainer.weights.flat.set(before);
    await expect(trainer.optimStep(smooth)).resolves.toMatchObject({ gradientNorm: 0 });
    expect((await trainer.forwardBackward(objective)).loss).toBeGreaterThan(0);
    const controller = new AbortController();
    const aborted = trainer.forwardBackward(objective, {
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    await expect(aborted).rejects.toMatchObject({ code: "aborted" });
  });
});

function at(path: string): { code: string; loc: Loc } {
  return { code: "invalid", loc: locOf(path) };
}

function copied({ parameters, flat }: ParameterSet): ParameterSet {
  const copy = flat.slice();
  const views = parameters.map(({ name, offset, size }) => [name, copy.subarray(offset, offset + size)] as const);
  return { parameters, flat: copy, views: new Map(views) };
}
