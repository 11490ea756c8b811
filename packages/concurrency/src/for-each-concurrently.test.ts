import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { forEachConcurrently } from "./for-each-concurrently.js";

async function* numbers(read: number[]) {
  for (let number = 0; number < 10; number++) {
    read.push(number);
    yield number;
  }
}

test("no more items are read than are worked on", async () => {
  const read: number[] = [];
  let running = 0;
  let most = 0;
  const done: number[] = [];
  await forEachConcurrently(numbers(read), 3, async (number) => {
    most = Math.max(most, ++running);
    expect(read.length).toBeLessThanOrEqual(done.length + 3);
    await setImmediate();
    running -= 1;
    done.push(number);
  });
  expect(most).toBe(3);
  expect(done).toEqual([...Array(10).keys()]);
});

test("after an error nothing further begins, and it is thrown when what had begun has ended", async () => {
  const read: number[] = [];
  const ended: number[] = [];
  const work = forEachConcurrently(numbers(read), 2, async (number) => {
    if (number === 3) throw new Error("three");
    await setImmediate();
    ended.push(number);
  });
  await expect(work).rejects.toThrow("three");
  expect(ended).toEqual([0, 1, 2]);
  expect(read.length).toBeLessThan(6);
});
