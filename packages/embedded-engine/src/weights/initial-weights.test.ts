import { expect, test } from "vitest";
import { sameBits } from "../../test/weight-files.js";
import { presets } from "../model/presets.js";
import { initialAdapter, initialWeights } from "./initial-weights.js";

const tiny = presets.get("tiny")!;

function deviation(values: Float32Array): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}

test("a seed always makes the same weights, another seed others", () => {
  expect(sameBits(initialWeights(tiny, 7).flat, initialWeights(tiny, 7).flat)).toBe(true);
  expect(sameBits(initialWeights(tiny, 7).flat, initialWeights(tiny, 8).flat)).toBe(false);
  // Recorded once: `random:tiny` must not change, because adapters refer to it.
  expect([...initialWeights(tiny, 1).flat.subarray(0, 4)]).toMatchInlineSnapshot(`
    [
      -0.10834566503763199,
      -0.07799085229635239,
      -0.07266462594270706,
      0.02710871398448944,
    ]
  `);
});

test("norms are one, biases zero, and matrices have the deviation of their inputs", () => {
  const { views } = initialWeights({ ...tiny, family: "qwen2", attentionBias: true, tiedEmbeddings: false }, 1);
  expect(new Set(views.get("layers.1.attention_norm"))).toEqual(new Set([1]));
  expect(new Set(views.get("layers.0.query_norm"))).toEqual(new Set([1]));
  expect(new Set(views.get("layers.0.qkv_bias"))).toEqual(new Set([0]));
  expect(deviation(views.get("layers.0.qkv")!)).toBeCloseTo(1 / 8, 2);
  expect(deviation(views.get("layers.0.down")!)).toBeCloseTo(1 / Math.sqrt(176) / 2, 2);
  expect(deviation(views.get("embedding")!)).toBeCloseTo(0.5 / 8, 2);
  expect(deviation(views.get("head")!)).toBeCloseTo(0.5 / 8, 2);
});

test("a new adapter has no effect and is initialized as in PEFT", () => {
  const config = { rank: 16, alpha: 16, targets: ["k" as const, "down" as const] };
  const set = initialAdapter(tiny, config, 3407);
  expect(set.views.size).toBe(8);
  for (const { name } of set.parameters) {
    if (name.endsWith(".b")) expect(set.views.get(name)!.every((value) => value === 0)).toBe(true);
  }
  for (const [name, inputs] of [
    ["layers.1.k.a", 64],
    ["layers.0.down.a", 176],
  ] as const) {
    const bound = 1 / Math.sqrt(inputs);
    const values = set.views.get(name)!;
    expect(values.every((value) => Math.abs(value) <= bound)).toBe(true);
    expect(deviation(values)).toBeCloseTo(bound / Math.sqrt(3), 2);
  }
  expect(sameBits(initialAdapter(tiny, config, 3407).flat, set.flat)).toBe(true);
  expect(sameBits(initialAdapter(tiny, config, 1).flat, set.flat)).toBe(false);
});
