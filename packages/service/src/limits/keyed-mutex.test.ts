import { expect, test } from "vitest";
import { KeyedMutex } from "./keyed-mutex.js";

/** Acquires the mutex and notes who has it. */
async function noted(order: string[], mutex: KeyedMutex, key: string, name: string): Promise<() => void> {
  const release = await mutex.acquire(key);
  order.push(name);
  return release;
}

const soon = async () => await new Promise((resolve) => setImmediate(resolve));

test("the work of a key waits for what came before it, and for nothing of other keys", async () => {
  const mutex = new KeyedMutex();
  const order: string[] = [];
  const first = await noted(order, mutex, "ann", "first");
  const [second, third] = [noted(order, mutex, "ann", "second"), noted(order, mutex, "ann", "third")];
  const other = await noted(order, mutex, "bob", "other");
  expect(order).toEqual(["first", "other"]);
  first();
  first();
  (await second)();
  (await third)();
  other();
  expect(order).toEqual(["first", "other", "second", "third"]);
  await soon();
  (await noted(order, mutex, "ann", "later"))();
  expect(order.at(-1)).toBe("later");
});

test("a mutex that is released twice lets only one other in", async () => {
  const mutex = new KeyedMutex();
  const order: string[] = [];
  const first = await noted(order, mutex, "ann", "first");
  const second = noted(order, mutex, "ann", "second");
  void noted(order, mutex, "ann", "third");
  first();
  await second;
  first();
  await soon();
  expect(order).toEqual(["first", "second"]);
});
