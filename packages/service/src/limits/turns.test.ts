import { expect, test } from "vitest";
import { Turns } from "./turns.js";

/** Notes the names of those whose turn it is. */
async function noted(order: string[], turns: Turns, key: string, name: string): Promise<() => void> {
  const done = await turns.take(key);
  order.push(name);
  return done;
}

const soon = async () => await new Promise((resolve) => setImmediate(resolve));

test("the work of a key waits for what came before it, and for nothing of other keys", async () => {
  const turns = new Turns();
  const order: string[] = [];
  const first = await noted(order, turns, "ann", "first");
  const [second, third] = [noted(order, turns, "ann", "second"), noted(order, turns, "ann", "third")];
  const other = await noted(order, turns, "bob", "other");
  expect(order).toEqual(["first", "other"]);
  first();
  first();
  (await second)();
  (await third)();
  other();
  expect(order).toEqual(["first", "other", "second", "third"]);
  await soon();
  (await noted(order, turns, "ann", "later"))();
  expect(order.at(-1)).toBe("later");
});

test("a turn that was given back twice lets only one other in", async () => {
  const turns = new Turns();
  const order: string[] = [];
  const first = await noted(order, turns, "ann", "first");
  const second = noted(order, turns, "ann", "second");
  void noted(order, turns, "ann", "third");
  first();
  await second;
  first();
  await soon();
  expect(order).toEqual(["first", "second"]);
});
