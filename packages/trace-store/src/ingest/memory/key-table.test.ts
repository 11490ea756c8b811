import * as fc from "fast-check";
import { expect, test } from "vitest";
import { KeyTable } from "./key-table.js";
import { KnownCalls } from "./known-calls.js";

test("the table remembers what a map would, through growth, removal and forgetting", () => {
  const change = fc.record({
    key: fc.integer({ min: 0, max: 400 }).map((n) => `12:acme/project:${n}`),
    time: fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }),
    flags: fc.integer({ min: 0, max: 127 }),
    remove: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 3000, size: "max" }), (changes) => {
      const table = new KeyTable();
      const map = new Map<string, { time: bigint; flags: number }>();
      for (const { key, time, flags, remove } of changes) {
        if (remove) {
          table.delete(key);
          map.delete(key);
        } else {
          table.set(key, time, flags);
          map.set(key, { time, flags });
        }
      }
      expect(table.size).toBe(map.size);
      const found = changes.map(({ key }) => [table.has(key), table.time(key), table.flags(key)]);
      expect(found).toEqual(changes.map(({ key }) => [map.has(key), map.get(key)?.time, map.get(key)?.flags ?? 0]));
      table.dropBefore(0n);
      for (const [key, { time }] of map) expect(table.has(key)).toBe(time >= 0n);
      table.clear();
      expect(table.size).toBe(0);
    }),
    { numRuns: 15 },
  );
});

test("a million keys do not collide", () => {
  const table = new KeyTable();
  for (let index = 0; index < 1_000_000; index++) table.set(`9:acme/demo:${index.toString(16)}`, BigInt(index));
  expect(table.size).toBe(1_000_000);
  expect(table.time("9:acme/demo:f423f")).toBe(999_999n);
  expect(table.has("9:acme/demo:f4240")).toBe(false);
});

test("what is absent is proven new only after the horizon, which rises when memory is full", () => {
  const known = new KnownCalls(100, 1000n);
  expect(known.provesNew(1001n)).toBe(true);
  expect(known.provesNew(1000n)).toBe(false);
  expect(known.provesNew(undefined)).toBe(false);
  for (let index = 0; index < 1000; index++) {
    known.add(`k${index}`, BigInt(2000 + index));
    expect(known.size).toBeLessThanOrEqual(100);
  }
  for (let index = 0; index < 1000; index++) {
    const startedAt = BigInt(2000 + index);
    const found = known.startedAt(`k${index}`);
    if (found === undefined) expect(known.provesNew(startedAt)).toBe(false);
    else expect(found).toBe(startedAt);
  }
  expect(known.startedAt("k999")).toBe(2999n);
});

test("calls that started before the horizon are remembered until memory is full, and then go first", () => {
  const known = new KnownCalls(10_000, 1000n);
  known.add("old", 5n);
  expect([known.startedAt("old"), known.horizon]).toEqual([5n, 1000n]);
  for (let index = 0; index < 1000; index++) known.add(`k${index}`, BigInt(2000 + index));
  expect(known.startedAt("old")).toBeUndefined();
  expect(known.provesNew(5n)).toBe(false);
  expect(known.horizon).toBeGreaterThanOrEqual(1000n);
});

test("calls that all started in one microsecond fill memory but do not break it", () => {
  const known = new KnownCalls(10, 0n);
  for (let index = 0; index < 100; index++) known.add(`k${index}`, 5n);
  expect(known.size).toBeLessThanOrEqual(10);
  expect(known.provesNew(5n)).toBe(false);
});
