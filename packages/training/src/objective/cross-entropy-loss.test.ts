import { describe, expect, it } from "vitest";
import type { Objective } from "../port.js";
import { sequenceLoss } from "./objective-loss.js";

const logprobs = new Float64Array([NaN, -0.5, NaN, -2]);
const plain = { tokens: new Int32Array(4), mask: Uint8Array.from([0, 1, 0, 1]) };

const objective = (weights?: Float64Array): Objective => ({
  name: "cross_entropy",
  sequences: [plain, { ...plain, ...(weights && { weights }) }],
  normalizer: 7,
});

describe("the supervised loss", () => {
  it("is the sum of negative log-probabilities over trained tokens, before any division", () => {
    const { loss, gradient, sums } = sequenceLoss(objective(), 1, logprobs);
    expect(loss).toBe(2.5);
    expect([...gradient]).toEqual([0, -1, 0, -1]);
    expect(sums).toEqual({ trainedTokens: 2 });
  });

  it("applies token weights", () => {
    const { loss, gradient } = sequenceLoss(objective(new Float64Array([5, 0.5, 5, 2])), 1, logprobs);
    expect(loss).toBe(4.25);
    expect([...gradient]).toEqual([0, -0.5, 0, -2]);
  });

  it("refuses an index out of range, and weights of another length", () => {
    expect(() => sequenceLoss(objective(), 2, logprobs)).toThrow("The objective has no sequence 2.");
    expect(() => sequenceLoss(objective(new Float64Array(3)), 1, logprobs)).toThrow(
      "weights has 3 entries for 4 tokens.",
    );
  });
});
