import { expect, test } from "vitest";
import { openCompletionSlots } from "./completion-slots.js";

const ann = { key: "ann", entity: "acme" };
const bob = { key: "bob", entity: "acme" };
const eve = { key: "eve", entity: "rival" };

test.each([
  [64, 32, 48],
  [4, 2, 3],
  [2, 1, 1],
])("of %i slots a key has at most %i, its entity %i, and another entity the rest", async (slots, ofKey, ofEntity) => {
  const shared = openCompletionSlots({ slots, waitingPerKey: 100 });
  const taken: string[] = [];
  const take = (sharer: typeof ann) => {
    for (let n = 0; n < slots; n++) void shared.acquire(sharer, 1).then(() => taken.push(sharer.key));
  };
  for (const sharer of [ann, bob, eve]) take(sharer);
  await new Promise((resolve) => setTimeout(resolve, 10));
  const count = (...keys: string[]) => taken.filter((key) => keys.includes(key)).length;
  expect([count("ann"), count("ann", "bob"), taken.length]).toEqual([ofKey, ofEntity, slots]);
});
