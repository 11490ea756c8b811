import { expect, test } from "vitest";
import { FairQueue } from "./fair-queue.js";
import type { FairQueueOptions } from "./fair-queue.js";

const ann = { key: "ann", entity: "acme" };
const bob = { key: "bob", entity: "acme" };
const eve = { key: "eve", entity: "rival" };

const queue = (options: Partial<FairQueueOptions> = {}) =>
  new FairQueue<string>({
    perEntity: 10,
    waitingPerKey: 100,
    waiting: 1000,
    messages: { key: "of the key", all: "of all" },
    ...options,
  });

/** Takes all items, one after the other, each of which costs what its name says. */
function taken(items: FairQueue<string>): string[] {
  const names: string[] = [];
  for (let turn = items.take(); turn !== undefined; turn = items.take()) {
    names.push(turn.item);
    turn.end(Number(turn.item.split(" ")[1] ?? 0));
  }
  return names;
}

test("one item of an entity with few comes before the many of another, and so for keys of one entity", () => {
  const items = queue();
  for (let index = 0; index < 3; index++) items.add(ann, `ann${index}`);
  items.add(bob, "bob");
  items.add(eve, "eve");
  expect(taken(items)).toEqual(["ann0", "eve", "bob", "ann1", "ann2"]);
});

test("whoever has expensive items gets fewer of them in turn", () => {
  const items = queue();
  for (let index = 0; index < 3; index++) items.add(ann, "ann 100");
  for (let index = 0; index < 5; index++) items.add(eve, "eve 30");
  expect(taken(items)).toEqual(["ann 100", "eve 30", "eve 30", "eve 30", "eve 30", "ann 100", "eve 30", "ann 100"]);
});

test("whoever was idle has saved nothing up", () => {
  const items = queue();
  for (let index = 0; index < 8; index++) items.add(ann, "ann 10");
  for (let index = 0; index < 4; index++) items.take()?.end(10);
  for (let index = 0; index < 4; index++) items.add(eve, "eve 10");
  expect(
    taken(items)
      .map((name) => name.slice(0, 3))
      .join(" "),
  ).toBe("eve ann eve ann eve ann eve ann");
});

test("an entity has no more out than it may, and the others have theirs", () => {
  const items = queue({ perEntity: 1 });
  for (const sharer of [ann, bob, eve]) items.add(sharer, sharer.key);
  const first = items.take();
  expect([first?.item, items.take()?.item, items.take()]).toEqual(["ann", "eve", undefined]);
  first?.end(1);
  expect(items.take()?.item).toBe("bob");
});

test("too many that wait are refused: of one key, then of all", () => {
  const items = queue({ waitingPerKey: 1, waiting: 2 });
  items.add(ann, "ann");
  expect(() => items.add(ann, "again")).toThrow(
    expect.objectContaining({ code: "rate_limited", message: "of the key" }),
  );
  items.add(eve, "eve");
  expect(() => items.add(bob, "bob")).toThrow(expect.objectContaining({ code: "busy", message: "of all" }));
});

test("an item that is removed does not get its turn", () => {
  const items = queue();
  const remove = items.add(ann, "ann");
  items.add(eve, "eve");
  remove();
  remove();
  expect([items.waiting, taken(items)]).toEqual([1, ["eve"]]);
});
