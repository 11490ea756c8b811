import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { mapConcurrently } from "./map-concurrently.js";

test("results are in the order of the items, and no more are worked on than the limit", async () => {
  let running = 0;
  let most = 0;
  const doubled = await mapConcurrently([5, 4, 3, 2, 1], 2, async (number, index) => {
    most = Math.max(most, ++running);
    await setTimeout(number);
    running -= 1;
    return [index, 2 * number];
  });
  expect(doubled).toEqual([
    [0, 10],
    [1, 8],
    [2, 6],
    [3, 4],
    [4, 2],
  ]);
  expect(most).toBe(2);
  expect(await mapConcurrently([], 2, async () => 1)).toEqual([]);
});

test("the error of the first item that has one is thrown, when all that had begun have ended", async () => {
  const ended: number[] = [];
  const work = mapConcurrently(new Set([0, 1, 2, 3, 4, 5]), 3, async (number) => {
    await setTimeout(number === 1 ? 20 : 1);
    ended.push(number);
    if (number === 1 || number === 2) throw new Error(`${number}`);
  });
  await expect(work).rejects.toThrow("1");
  expect(ended).toContain(1);
  expect(ended).not.toContain(5);
});
