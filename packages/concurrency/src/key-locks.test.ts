import { expect, test } from "vitest";
import { keyLocks } from "./key-locks.js";

/** A task that notes its name when it begins and ends when `end` is called. */
function task(order: string[], name: string) {
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const work = async () => {
    order.push(name);
    await ended;
    return name;
  };
  return { work, end: () => end() };
}

const soon = async () => await new Promise((resolve) => setImmediate(resolve));

test("the tasks of a key wait for what came before them, and for nothing of other keys", async () => {
  const locked = keyLocks();
  const order: string[] = [];
  const [first, second, third] = [task(order, "first"), task(order, "second"), task(order, "third")];
  const other = task(order, "other");
  const running = [first, second, third].map(({ work }) => locked("ann", work));
  const elsewhere = locked("bob", other.work);
  await soon();
  expect(order).toEqual(["first", "other"]);
  first.end();
  await running[0];
  await soon();
  expect(order).toEqual(["first", "other", "second"]);
  for (const { end } of [second, third, other]) end();
  expect(await Promise.all([...running, elsewhere])).toEqual(["first", "second", "third", "other"]);
  expect(order).toEqual(["first", "other", "second", "third"]);
  await locked("ann", () => Promise.resolve(order.push("later")));
  expect(order.at(-1)).toBe("later");
});

test("a task that fails rejects its own call, and the next one runs", async () => {
  const locked = keyLocks();
  const failing = locked("ann", () => Promise.reject(new Error("broken")));
  const next = locked("ann", () => Promise.resolve("next"));
  await expect(failing).rejects.toThrow("broken");
  expect(await next).toBe("next");
});
