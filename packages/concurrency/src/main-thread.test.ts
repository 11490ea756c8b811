import { setImmediate, setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { mainThread } from "./main-thread.js";

const ann = { key: "ann", entity: "acme" };
const eve = { key: "eve", entity: "rival" };

function compute(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Works in slices, and notes who had each of them. */
async function work(sharer: typeof ann, slices: number, ms: number, order: string[]): Promise<void> {
  for (let slice = 0; slice < slices; slice++) {
    await mainThread.giveWay(sharer);
    order.push(sharer.key);
    compute(ms);
  }
}

test("one slice runs in each iteration of the event loop, however many wait", async () => {
  const order: string[] = [];
  const all = Array.from({ length: 10 }, async () => await work(ann, 5, 2, order));
  let iterations = 0;
  for (; order.length < 50; iterations++) await setImmediate();
  expect(iterations).toBeGreaterThanOrEqual(49);
  await Promise.all(all);
});

test("who has short slices has more of them, however many of another wait", async () => {
  const order: string[] = [];
  const many = Array.from({ length: 10 }, async () => await work(ann, 6, 6, order));
  await delay(30);
  order.length = 0;
  await work(eve, 9, 2, order);
  expect(order.filter((key) => key === "ann").length).toBeLessThanOrEqual(20);
  await Promise.all(many);
});

test("after a long slice others have the thread for as long", async () => {
  const order: string[] = [];
  const long = Array.from({ length: 2 }, async () => await work(ann, 1, 60, order));
  await Promise.race(long);
  const since = performance.now();
  await Promise.all(long);
  expect(performance.now() - since).toBeGreaterThan(60 + 55);
});

test("the work goes on for whom the running code works", async () => {
  mainThread.findSharerBy(() => eve);
  const order: string[] = [];
  const all = Array.from({ length: 3 }, async () => await work(ann, 1, 3, order));
  await mainThread.giveWay();
  order.push("eve");
  await Promise.all(all);
  mainThread.findSharerBy(() => undefined);
  expect(order.indexOf("eve")).toBeLessThan(2);
});
