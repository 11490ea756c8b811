import { describe, expect, it } from "vitest";
import { turnAdvantages } from "./turn-advantages.js";

describe("the advantages of turns with rewards of their own", () => {
  it("sum up what follows, relative to all turns of the group", () => {
    // Mean 1.5, population standard deviation sqrt(1.25).
    const { advantages, trainable } = turnAdvantages(
      [
        [undefined, 3, undefined, 0],
        [2, 1],
      ],
      false,
    );
    expect(advantages).toEqual([
      [0, 0, -1.5, -1.5],
      [0, -0.5],
    ]);
    expect(trainable).toBe(true);
    const scaled = turnAdvantages(
      [
        [3, 0],
        [2, 1],
      ],
      true,
    ).advantages;
    expect(scaled[0]![1]).toBeCloseTo(-1.5 / (Math.sqrt(1.25) + 1e-6), 12);
    expect(scaled[1]![1]).toBeCloseTo(-0.5 / (Math.sqrt(1.25) + 1e-6), 12);
  });

  it("are 0 for equal rewards, and where only one turn or none has one", () => {
    for (const histories of [[[0.1, 0.1], [0.1]], [[undefined, 5]], [[undefined]], [[]], []]) {
      const { advantages, trainable } = turnAdvantages(histories, true);
      expect(advantages).toEqual(histories.map((history) => history.map(() => 0)));
      expect(trainable).toBe(false);
    }
  });
});
