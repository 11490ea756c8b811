import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { beginCompressing, compressInTurn } from "./compressing.js";

test("of what waits to be compressed, that of whoever has compressed the least comes first", async () => {
  const order: string[] = [];
  let [running, most] = [0, 0];
  const compress = async (entity: string) =>
    await compressInTurn({ key: entity, entity }, async () => {
      most = Math.max(most, ++running);
      await delay(2);
      running -= 1;
      order.push(entity);
    });
  await Promise.all([...Array.from({ length: 100 }, async () => await compress("greedy")), compress("other")]);
  expect(order.indexOf("other")).toBeLessThan(6);
  expect(most).toBe(2);
});

test("what fails gives its turn back", async () => {
  const failing = Array.from({ length: 5 }, () => compressInTurn(undefined, () => Promise.reject(new Error("broken"))));
  for (const each of failing) await expect(each).rejects.toThrow("broken");
  expect(await compressInTurn(undefined, async () => await Promise.resolve(1))).toBe(1);
});

test("a key has a quarter of the responses that are compressed at once", () => {
  const begin = (key: string) => beginCompressing({ key, entity: "acme" });
  const open = Array.from({ length: 64 }, () => begin("ann"));
  expect(open).not.toContain(undefined);
  expect(begin("ann")).toBeUndefined();
  const other = begin("bob");
  expect(other).toBeDefined();
  open[0]?.();
  const again = begin("ann");
  expect(again).toBeDefined();
  for (const release of [...open, other, again]) release?.();
});
