import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { groupCommits } from "./group-commits.js";

interface Entry {
  bytes: number;
  rows: number;
  name: string;
}

function recorder(commitMs = 0) {
  const commits: string[][] = [];
  let running = 0;
  let begun = 0;
  const queue = groupCommits<Entry>(async (entries) => {
    begun++;
    expect(++running).toBe(1);
    await delay(commitMs);
    commits.push(entries.map(({ name }) => name));
    running--;
  });
  return { commits, begun: () => begun, queue };
}

const entry = (name: string, bytes = 100): Entry => ({ name, bytes, rows: 1 });

test("requests that come together share a commit, in order", async () => {
  const { commits, queue } = recorder();
  for (const name of ["a", "b", "c"]) queue.add(entry(name));
  await queue.close();
  expect(commits).toEqual([["a", "b", "c"]]);
});

test("a single request does not wait for others", async () => {
  const { commits, queue } = recorder();
  queue.add(entry("a"));
  await expect.poll(() => commits).toEqual([["a"]]);
  await queue.close();
});

test("what comes during a commit goes into the next one; commits never overlap", async () => {
  const { commits, begun, queue } = recorder(20);
  queue.add(entry("a"));
  await expect.poll(begun, { interval: 1 }).toBe(1);
  queue.add(entry("b"));
  queue.add(entry("c"));
  await queue.close();
  expect(commits).toEqual([["a"], ["b", "c"]]);
});

test("a commit stays below 64 MB, and a huge backlog is refused instead of filling memory", async () => {
  const { commits, queue } = recorder();
  const megabytes = 1024 * 1024;
  for (const name of ["a", "b", "c", "d"]) expect(queue.add(entry(name, 30 * megabytes))).toBe(true);
  expect(queue.add(entry("e", 300 * megabytes))).toBe(false);
  await queue.close();
  expect(commits).toEqual([["a"], ["b"], ["c"], ["d"]]);
});

test("a task runs alone, between commits, and its failure is its caller's", async () => {
  const { commits, queue } = recorder(5);
  queue.add(entry("a"));
  const task = queue.runExclusive(async () => {
    commits.push(["task"]);
    await delay(10);
    commits.push(["task end"]);
  });
  const failing = queue.runExclusive(() => Promise.reject(new Error("mine")));
  queue.add(entry("b"));
  await expect(failing).rejects.toThrow("mine");
  await task;
  await queue.close();
  const at = commits.findIndex(([name]) => name === "task");
  expect(commits[at + 1]).toEqual(["task end"]);
  expect(commits.flat()).toContain("b");
});

test("nothing is taken after closing, and closing commits what waits", async () => {
  const { commits, queue } = recorder(5);
  queue.add(entry("a"));
  const closed = queue.close();
  expect(queue.add(entry("b"))).toBe(false);
  await closed;
  expect(commits).toEqual([["a"]]);
});

test("clients that send the next request after each response come to share every commit", async () => {
  const sizes: number[] = [];
  const responses = new Map<Entry, () => void>();
  const queue = groupCommits<Entry>(async (entries) => {
    await delay(10);
    sizes.push(entries.length);
    for (const entry of entries) responses.get(entry)?.();
  });
  const client = async () => {
    for (let requests = 0; requests < 8; requests++) {
      const request = { name: "", bytes: 200_000, rows: 100 };
      const responded = new Promise<void>((resolve) => {
        responses.set(request, resolve);
      });
      queue.add(request);
      await responded;
    }
  };
  await Promise.all([client(), client(), client(), client()]);
  await queue.close();
  expect(sizes.length).toBeLessThan(14);
});

describe("small requests", () => {
  beforeAll(() => void vi.useFakeTimers());
  afterAll(() => void vi.useRealTimers());

  /** Sends one request after the other, `gapMs` after each response, and tells how long each waited for its commit. */
  async function waits(gapMs: number): Promise<number[]> {
    const waited: number[] = [];
    let sent = 0;
    const queue = groupCommits<Entry>(() => {
      waited.push(Math.round(performance.now() - sent));
      return new Promise((resolve) => setTimeout(resolve, 40));
    });
    for (let requests = 0; requests < 4; requests++) {
      sent = performance.now();
      queue.add(entry(""));
      await vi.advanceTimersByTimeAsync(5);
      while (waited.length <= requests) await vi.advanceTimersByTimeAsync(1);
      await vi.advanceTimersByTimeAsync(40 + gapMs);
    }
    return waited;
  }

  test("wait 5 ms when one client sends one after the other", async () => {
    expect(await waits(10)).toEqual([5, 5, 5, 5]);
  });

  test("wait 5 ms when they come now and then", async () => {
    expect(await waits(50)).toEqual([5, 5, 5, 5]);
  });

  test("wait for others when commits would take all the time", async () => {
    let commits = 0;
    const queue = groupCommits<Entry>(() => {
      commits++;
      return new Promise((resolve) => setTimeout(resolve, 40));
    });
    for (let requests = 0; requests < 200; requests++) {
      queue.add(entry(""));
      await vi.advanceTimersByTimeAsync(20);
    }
    // Two arrive during a commit: one right after the other would be 100.
    expect(commits).toBeGreaterThan(40);
    expect(commits).toBeLessThan(75);
  });
});

describe("clients with oversized requests", () => {
  beforeAll(() => void vi.useFakeTimers());
  afterAll(() => void vi.useRealTimers());
  const oversized = (name: string) => entry(name, 1_500_000);

  /** Tells of commits as they begin; each takes 100 ms. */
  function slow() {
    const begun: string[][] = [];
    const queue = groupCommits<Entry>((entries) => {
      begun.push(entries.map(({ name }) => name));
      return new Promise((resolve) => setTimeout(resolve, 100));
    });
    return { begun, queue };
  }

  test("commit in two alternating groups: the others prepare meanwhile", async () => {
    const { begun, queue } = slow();
    queue.add(oversized("a"));
    await vi.advanceTimersByTimeAsync(50);
    for (const name of ["b", "c", "d"]) queue.add(oversized(name));
    await vi.advanceTimersByTimeAsync(100);
    // Half of the four, although three waited.
    expect(begun).toEqual([["a"], ["b", "c"]]);
    queue.add(oversized("a2"));
    await vi.advanceTimersByTimeAsync(60);
    expect(begun.at(-1)).toEqual(["d", "a2"]);
    queue.add(oversized("b2"));
    await vi.advanceTimersByTimeAsync(100);
    expect(begun).toHaveLength(3);
    queue.add(oversized("c2"));
    await vi.advanceTimersByTimeAsync(0);
    expect(begun.at(-1)).toEqual(["b2", "c2"]);
  });

  test("wait for each other no longer than a commit takes", async () => {
    const { begun, queue } = slow();
    for (const name of ["a", "b", "c", "d"]) queue.add(oversized(name));
    await vi.advanceTimersByTimeAsync(290);
    expect(begun).toEqual([["a"], ["b", "c"]]);
    await vi.advanceTimersByTimeAsync(20);
    expect(begun.at(-1)).toEqual(["d"]);
    await vi.advanceTimersByTimeAsync(100);
    queue.add(oversized("alone"));
    await vi.advanceTimersByTimeAsync(0);
    expect(begun.at(-1)).toEqual(["alone"]);
  });
});

test("a commit has so few rows that planning it keeps nobody waiting", async () => {
  const { commits, queue } = recorder();
  for (const name of ["a", "b", "c", "d"]) queue.add({ name, bytes: 100, rows: 4000 });
  queue.add({ name: "large", bytes: 100, rows: 20_000 });
  await queue.close();
  expect(commits).toEqual([["a"], ["b", "c"], ["d"], ["large"]]);
});

describe("large requests", () => {
  beforeAll(() => void vi.useFakeTimers());
  afterAll(() => void vi.useRealTimers());

  test("share a commit although they are read one after another", async () => {
    const begun: string[][] = [];
    const queue = groupCommits<Entry>((entries) => {
      begun.push(entries.map(({ name }) => name));
      return new Promise((resolve) => setTimeout(resolve, 100));
    });
    const names = ["a", "b", "c", "d"];
    const large = (name: string) => ({ ...entry(name, 200_000), rows: 100 });
    queue.add(large("first"));
    await vi.advanceTimersByTimeAsync(50);
    for (const name of names) queue.add(large(name));
    await vi.advanceTimersByTimeAsync(150);
    // All of them are expected again. Reading takes less than a quarter of a commit, but not reading all of them.
    for (const name of names) {
      await vi.advanceTimersByTimeAsync(15);
      queue.add(large(name));
    }
    await vi.advanceTimersByTimeAsync(100);
    expect(begun).toEqual([["first"], names, names]);
    // Whoever does not come is not waited for longer than a commit takes.
    queue.add(large("alone"));
    await vi.advanceTimersByTimeAsync(100);
    expect(begun.at(-1)).toEqual(["alone"]);
  });
});
