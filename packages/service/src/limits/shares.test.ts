import { expect, test } from "vitest";
import { readConfig } from "../config/config.js";
import { engineShares } from "./shares.js";

const { limits } = readConfig({});

test.each([1, 2, 3, 4])(
  "a key with projects in each of %i databases reads as much at once as one with a project, within a factor of two",
  (databases) => {
    const { readsPerKey, readsPerEntity } = engineShares(limits, { databases });
    for (const [part, whole] of [
      [readsPerKey, limits.readsPerKey],
      [readsPerEntity, limits.readsPerEntity],
    ] as const) {
      expect(part * databases).toBeLessThanOrEqual(2 * whole + databases - 1);
      expect(part).toBeGreaterThanOrEqual(whole / 2);
      expect(part).toBeLessThanOrEqual(whole);
    }
  },
);

test("a request that reads while it reads has both, however many databases there are", () => {
  expect(engineShares(limits, { databases: 100 }).readsPerKey).toBe(2);
  expect(engineShares({ ...limits, readsPerKey: 1 }, { databases: 100 }).readsPerKey).toBe(1);
});
