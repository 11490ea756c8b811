import { loraTargets } from "@heddle/training";
import type { LoraConfig } from "@heddle/training";
import { expect, test } from "vitest";
import { float64Logits, inFloat64 } from "../../test/float64-model.js";
import { randomSet, randomWeights, smallModels } from "../../test/small-models.js";
import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import { adapterParameters, parameterSet } from "../model/parameters.js";
import type { DecodeBatch } from "./decode-batch.js";
import { createDecodeBatch } from "./decode-batch.js";
import type { PreparedWeights } from "./prepared-weights.js";
import { prepareBase } from "./prepared-weights.js";
import type { PrefilledPrompt } from "./prompt.js";
import { createPromptReader, prefillShortPrompts } from "./prompt.js";

type Factors = { config: LoraConfig; set: ParameterSet };

/** Logits after every token in double precision. */
function expected(config: ModelConfig, weights: ParameterSet, tokens: number[], adapter?: Factors): number[][] {
  const model = inFloat64(config, weights, adapter);
  return float64Logits(model, tokens).map((row) => row.map((scalar) => model.tape.values[scalar]!));
}

function worst(actual: ArrayLike<number>, wanted: readonly number[]): number {
  return Math.max(...wanted.map((logit, i) => Math.abs(logit - actual[i]!)));
}

async function readAll(weights: PreparedWeights, tokens: number[]): Promise<PrefilledPrompt> {
  const reader = createPromptReader(weights, Int32Array.from(tokens));
  for (;;) {
    const prompt = await reader.next();
    if (prompt) return prompt;
  }
}

function rowOf(batch: DecodeBatch, slot: number, { vocabularySize }: ModelConfig): Float32Array {
  return batch.output("logits").subarray(slot * vocabularySize, (slot + 1) * vocabularySize);
}

/** Rows of different lengths. The tokens of each row count up from its first one. */
const prompts = [3, 1, 20, 6, 2].map((length, row) => Array.from({ length }, (_, i) => (7 * row + 3 * i) % 40));
const steps = 14;
const nextToken = (row: number, step: number) => (11 * row + 5 * step) % 40;

/** Logits of each row after its prompt and after each step, decoded together. */
async function decodeTogether(
  config: ModelConfig,
  loaded: PreparedWeights,
  texts: readonly number[][] = prompts,
): Promise<Float32Array[][]> {
  const batch = createDecodeBatch(loaded);
  const read = await Promise.all(texts.map((tokens) => readAll(loaded, tokens)));
  const slots = read.map(({ cache, length }) => batch.add(cache, length));
  const logits = read.map((prompt) => [prompt.logits]);
  for (let step = 0; step < steps; step++) {
    slots.forEach((slot, row) => batch.setToken(slot, nextToken(row, step)));
    await batch.step(["logits"]);
    slots.forEach((slot, row) => logits[row]!.push(rowOf(batch, slot, config).slice()));
  }
  return logits;
}

async function compareModes(config: ModelConfig, weights: ParameterSet, adapter?: Factors): Promise<void> {
  const inModes: Float32Array[][][] = [];
  for (const mode of ["inputs", "outputsFirst", "prepacked"] as const) {
    const base = await prepareBase(config, parameterSet(weights.parameters, weights.flat.slice()), { mode });
    inModes.push(await decodeTogether(config, adapter ? await base.adapt(adapter.config, adapter.set) : base));
    await base.release();
  }
  prompts.forEach((prompt, row) => {
    const tokens = [...prompt, ...Array.from({ length: steps }, (_, step) => nextToken(row, step))];
    const wanted = expected(config, weights, tokens, adapter).slice(prompt.length - 1);
    for (const logits of inModes) {
      wanted.forEach((each, step) => {
        expect(worst(logits[row]![step]!, each), `row ${row}, step ${step}`).toBeLessThan(2e-5);
      });
    }
  });
}

test.each(Object.entries(smallModels))(
  "ragged rows of %s have the logits of double precision",
  async (_name, config) => {
    await compareModes(config, randomWeights(config, 1));
  },
);

test.each([1, 2, 40])("%i rows have the same logits, whichever operand of a product the weights are", async (rows) => {
  const config = smallModels.qwen2;
  const weights = randomWeights(config, 7);
  const texts = Array.from({ length: rows }, (_, row) => [row % 40, (3 * row) % 40]);
  const inModes: Float32Array[][][] = [];
  for (const mode of ["inputs", "outputsFirst"] as const) {
    const loaded = await prepareBase(config, parameterSet(weights.parameters, weights.flat.slice()), { mode });
    inModes.push(await decodeTogether(config, loaded, texts));
    await loaded.release();
  }
  const [inputs, outputsFirst] = inModes;
  inputs!.forEach((row, at) =>
    row.forEach((logits, step) => expect(worst(outputsFirst![at]![step]!, [...logits])).toBeLessThan(1e-5)),
  );
});

test("rows of an adapter have the logits of double precision", async () => {
  const config = smallModels.qwen3;
  const adapter: LoraConfig = { rank: 2, alpha: 3, targets: [...loraTargets] };
  const set = randomSet(adapterParameters(config, adapter), 3);
  await compareModes(config, randomWeights(config, 2), { config: adapter, set });
});

test.each([{}, { layerKinds: [{ window: 20 }] }])(
  "a prompt of several chunks has the logits of one chunk: %j",
  async (change) => {
    const config = { ...smallModels.qwen2, layers: 1, heads: 1, hiddenSize: 8, ...change };
    const weights = randomWeights(config, 4);
    const loaded = await prepareBase(config, weights);
    const tokens = Array.from({ length: 280 }, (_, i) => (i * i) % 40);
    const prompt = await readAll(loaded, tokens);
    expect(worst(prompt.logits, expected(config, weights, tokens).at(-1)!)).toBeLessThan(2e-5);
    await loaded.release();
  },
);

test("short prompts in one batch do not attend to each other", async () => {
  const config = smallModels.qwen3;
  const weights = randomWeights(config, 6);
  const loaded = await prepareBase(config, weights);
  const read = await prefillShortPrompts(
    loaded,
    prompts.map((tokens) => Int32Array.from(tokens)),
  );
  const batch = createDecodeBatch(loaded);
  const slots = read.map(({ cache, length }, i) => {
    expect(worst(read[i]!.logits, expected(config, weights, prompts[i]!).at(-1)!)).toBeLessThan(2e-5);
    return batch.add(cache, length);
  });
  for (const slot of slots) batch.setToken(slot, 17);
  await batch.step(["logits"]);
  slots.forEach((slot, i) => {
    const wanted = expected(config, weights, [...prompts[i]!, 17]).at(-1)!;
    expect(worst(rowOf(batch, slot, config), wanted)).toBeLessThan(2e-5);
  });
  await loaded.release();
});

test("rows that are added and removed do not change the others' logits", async () => {
  const config = smallModels.llama;
  const weights = randomWeights(config, 5);
  const loaded = await prepareBase(config, weights);
  const batch = createDecodeBatch(loaded);
  const rows = new Map<number, number[]>();
  const join = async (tokens: number[]) => {
    const prompt = await readAll(loaded, tokens);
    rows.set(batch.add(prompt.cache, prompt.length), [...tokens]);
  };
  const step = async () => {
    for (const [slot, row] of rows) {
      row.push((row.length * 7) % 40);
      batch.setToken(slot, row.at(-1)!);
    }
    await batch.step(["logits"]);
    for (const [slot, row] of rows) {
      expect(worst(rowOf(batch, slot, config), expected(config, weights, row).at(-1)!)).toBeLessThan(2e-5);
    }
  };
  const leave = (slots: number[]) => {
    for (const slot of slots) {
      batch.remove(slot);
      rows.delete(slot);
    }
    const moved = batch.trim();
    const left = [...rows];
    rows.clear();
    for (const [slot, row] of left) rows.set(moved?.get(slot) ?? slot, row);
  };
  for (const length of [4, 2, 31, 1, 8]) await join(Array.from({ length }, (_, i) => (i * 5 + length) % 40));
  expect(batch.rows).toBe(8);
  await step();
  leave([0, 2, 3]);
  expect(batch.rows).toBe(2);
  await step();
  await join([9, 9, 9]);
  await step();
  const [slot, row] = [...rows][0]!;
  rows.set(batch.fork(slot), [...row]);
  await step();
  expect(rows.size).toBe(4);
  await loaded.release();
});
