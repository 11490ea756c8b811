import { setImmediate, setTimeout as delay } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { MainThread } from "./main-thread.js";

const ann = { key: "ann", entity: "acme" };
const eve = { key: "eve", entity: "rival" };

function compute(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Not that of the process: other tests work in it. */
let mainThread = new MainThread();
beforeEach(() => {
  mainThread = new MainThread();
});

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

describe("while requests of others arrive", () => {
  let now = 0;
  /** How long the timers of the thread were to wait. */
  let pauses: unknown[] = [];
  let timers: (() => void)[] = [];

  beforeEach(() => {
    [pauses, timers] = [[], []];
    mainThread = new MainThread({
      now: () => now,
      after(callback, ms) {
        pauses.push(ms);
        timers.push(callback);
        return {} as NodeJS.Timeout;
      },
    });
  });

  /** Takes a slice of so many milliseconds, and then asks for another. */
  async function slice(sharer: typeof ann, ms: number): Promise<{ next: Promise<void> }> {
    await mainThread.giveWay(sharer);
    now += ms;
    return { next: mainThread.giveWay(sharer) };
  }

  test.each([
    { what: "each slice of an entity is followed by as long a pause of its work", arrive: [eve] },
    { what: "a request of the same entity does not hide those of others", arrive: [eve, ann, ann] },
  ])("$what", async ({ arrive }) => {
    for (const sharer of arrive) mainThread.arrived(sharer);
    const { next } = await slice(ann, 4);
    await setImmediate();
    expect(pauses).toEqual([4]);
    timers[0]?.();
    await next;
  });

  test("requests of the same entity, and old ones of others, make no pause", async () => {
    mainThread.arrived(eve);
    now += 300;
    mainThread.arrived(ann);
    const { next } = await slice(ann, 4);
    await next;
    expect(pauses).toEqual([]);
  });

  test("work of others does not wait for the end of the pause", async () => {
    mainThread.arrived(eve);
    const { next } = await slice(ann, 4);
    await setImmediate();
    expect(pauses).toEqual([4]);
    // No timer ends.
    await mainThread.giveWay(eve);
    await next;
  });
});

test("the work goes on for whom the running code works", async () => {
  mainThread.findSharerBy(() => eve);
  const order: string[] = [];
  const all = Array.from({ length: 3 }, async () => await work(ann, 1, 3, order));
  await mainThread.giveWay();
  order.push("eve");
  await Promise.all(all);
  expect(order.indexOf("eve")).toBeLessThan(2);
});
