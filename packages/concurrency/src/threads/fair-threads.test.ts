import { getPriority } from "node:os";
import { setImmediate, setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { HeddleError } from "@heddle/errors";
import type { TestTasks } from "../../test/tasks-thread.js";
import { ComputingBudget } from "./computing-budget.js";
import { FairThreads } from "./fair-threads.js";
import type { FairThreadsOptions, TaskOptions } from "./fair-threads.js";

const ann = { key: "ann", entity: "acme" };
const bob = { key: "bob", entity: "acme" };
const eve = { key: "eve", entity: "rival" };
const messages = { key: "of the key", all: "of all" };

const opened: FairThreads<TestTasks>[] = [];
function open(options: Partial<FairThreadsOptions> = {}): FairThreads<TestTasks> {
  const module = new URL("../../test/tasks-thread.ts", import.meta.url);
  const resourceLimits = { maxOldGenerationSizeMb: 64 };
  const threads = new FairThreads<TestTasks>({
    module,
    threads: 2,
    waitingPerKey: 100,
    waiting: 1000,
    messages,
    resourceLimits,
    ...options,
  });
  opened.push(threads);
  return threads;
}
afterEach(async () => {
  for (const threads of opened.splice(0)) await threads.endUnused();
});

const by = (sharer: TaskOptions["sharer"], more: Partial<TaskOptions> = {}) => ({ sharer, timeMs: 20_000, ...more });
const never = 1e9;

test("a task returns its value, and the thread does the next one", async () => {
  const threads = open();
  expect(await threads.run("echo", "one", by(ann))).toBe("one");
  const first = await threads.run("thread", undefined, by(ann));
  expect(await threads.run("thread", undefined, by(eve))).toBe(first);
});

test.runIf(process.platform === "linux")(
  "a thread leaves the processor to the event loop where both want it",
  async () => {
    const before = getPriority(0);
    expect(await open().run("priority", undefined, by(ann))).toBe(Math.min(19, before + 5));
    expect(getPriority(0)).toBe(before);
  },
);

test("an error of a task keeps code, message and location; of a defect nothing is shown", async () => {
  const threads = open();
  const refused = threads.run("refuse", "name", by(ann));
  await expect(refused).rejects.toMatchObject({ code: "invalid", message: "no name", loc: ["name"] });
  const defect = threads.run("defect", undefined, by(ann));
  await expect(defect).rejects.toMatchObject({ code: "failed", message: "internal error" });
});

test.each(["loop", "backtrack"] as const)(
  "a %s that does not end fails alone, and the next tasks succeed",
  async (name) => {
    const threads = open();
    const before = await threads.run("thread", undefined, by(ann));
    const endless = threads.run(name, name === "loop" ? never : 100, by(ann, { timeMs: 200 }));
    const next = threads.run("thread", undefined, by(ann));
    await expect(endless).rejects.toMatchObject({ code: "too_large", message: "takes longer than 200 ms" });
    expect(await next).not.toBe(before);
  },
);

test("a task that needs too much memory fails alone, and the next ones succeed", async () => {
  const threads = open();
  const large = threads.run("fill", undefined, by(ann));
  const next = threads.run("echo", "next", by(ann));
  await expect(large).rejects.toMatchObject({ code: "too_large", message: "needs more than 64 MB of memory" });
  expect(await next).toBe("next");
});

test("a thread that ends by itself fails its task only", async () => {
  const threads = open();
  await expect(threads.run("exit", undefined, by(ann))).rejects.toMatchObject({ code: "failed" });
  expect(await threads.run("echo", "next", by(ann))).toBe("next");
});

test("an entity with endless tasks leaves a thread to the others", async () => {
  const threads = open();
  const stop = new AbortController();
  const endless = [ann, bob, ann].map((sharer) => threads.run("loop", never, by(sharer, { signal: stop.signal })));
  for (let index = 0; index < 10; index++) expect(await threads.run("echo", `${index}`, by(eve))).toBe(`${index}`);
  stop.abort(new Error("enough"));
  for (const task of endless) await expect(task).rejects.toThrow("enough");
});

test("the tasks of a key with few come before the many of another key of the entity", async () => {
  const threads = open();
  const order: string[] = [];
  const add = async (sharer: typeof ann) => {
    await threads.run("loop", 5, by(sharer));
    order.push(sharer.key);
  };
  await Promise.all([...Array.from({ length: 20 }, () => add(ann)), add(bob)]);
  expect(order.indexOf("bob")).toBeLessThan(5);
});

test("the event loop goes on while tasks compute", async () => {
  const threads = open();
  let turns = 0;
  const task = threads.run("loop", 300, by(ann)).finally(() => {
    turns = -turns;
  });
  while (turns >= 0) {
    turns += 1;
    await setImmediate();
  }
  await task;
  expect(-turns).toBeGreaterThan(20);
});

test("a caller who leaves ends the task: one that waits, and one that computes, with its thread", async () => {
  const threads = open();
  const stop = new AbortController();
  await threads.run("echo", "ready", by(ann));
  const running = threads.run("loop", never, by(ann, { signal: stop.signal }));
  const waiting = threads.run("loop", never, by(ann, { signal: stop.signal }));
  await delay(20);
  expect(threads.load).toEqual({ threads: 1, waiting: 1 });
  stop.abort(new HeddleError("aborted", "left"));
  await expect(running).rejects.toThrow("left");
  await expect(waiting).rejects.toThrow("left");
  await vi.waitFor(() => expect(threads.load).toEqual({ threads: 0, waiting: 0 }), { timeout: 10_000 });
  await expect(threads.run("echo", "", by(ann, { signal: stop.signal }))).rejects.toThrow("left");
});

test("a task that is nearly done when its caller leaves does not cost the thread", async () => {
  const threads = open();
  const before = await threads.run("thread", undefined, by(ann));
  const stop = new AbortController();
  const task = threads.run("loop", 50, by(ann, { signal: stop.signal }));
  await delay(10);
  stop.abort(new Error("left"));
  await expect(task).rejects.toThrow("left");
  await delay(200);
  expect(await threads.run("thread", undefined, by(ann))).toBe(before);
});

test("the tasks of a job end when its computing time is used up, those of others go on", async () => {
  const threads = open();
  const budget = new ComputingBudget(50, () => new HeddleError("too_large", "the job is too large"));
  const tasks = Array.from({ length: 10 }, () => threads.run("loop", 30, by(ann, { budget })));
  const ended = await Promise.allSettled(tasks);
  const reasons = ended.flatMap((task) => (task.status === "rejected" ? [(task.reason as Error).message] : []));
  expect(new Set(reasons)).toEqual(new Set(["the job is too large"]));
  expect(reasons.length).toBeGreaterThanOrEqual(7);
  expect(await threads.run("echo", "next", by(ann))).toBe("next");
});

test("too many tasks that wait are refused", async () => {
  const threads = open({ waitingPerKey: 2 });
  const tasks = Array.from({ length: 5 }, () => threads.run("loop", 50, by(ann)));
  const ended = await Promise.allSettled(tasks);
  expect(ended.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
  expect(ended.at(-1)).toMatchObject({ reason: { code: "rate_limited", message: "of the key" } });
});

test("unused threads end, and later tasks start others", async () => {
  const threads = open();
  const before = await threads.run("thread", undefined, by(ann));
  await threads.endUnused();
  expect(threads.load).toEqual({ threads: 0, waiting: 0 });
  expect(await threads.run("thread", undefined, by(ann))).not.toBe(before);
});
