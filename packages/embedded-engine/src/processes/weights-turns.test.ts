import { expect, test } from "vitest";
import type { WeightsSource } from "./weights-cache.js";
import { weightsCache } from "./weights-cache.js";
import type { Sharer } from "./weights-turns.js";

const ann: Sharer = { key: "ann", entity: "acme" };
const bob: Sharer = { key: "bob", entity: "acme" };
const eve: Sharer = { key: "eve", entity: "rival" };
const turn = () => new Promise((resolve) => setImmediate(resolve));

const weights = (bytes: number): WeightsSource => ({
  size: async () => bytes,
  load: async () => undefined,
  drop: async () => undefined,
});

/** A cache of 100 bytes, and a function that notes who gets a lease and returns its release. */
function openCache() {
  const cache = weightsCache(100);
  const order: string[] = [];
  const use = async (sharer: Sharer, name: string, bytes: number) => {
    const lease = await cache.acquire(name, weights(bytes), sharer);
    order.push(`${sharer.key}: ${name}`);
    return () => lease.release();
  };
  return { use, order };
}

test("weights that do not fit wait for those in use, whose user starts nothing new on them meanwhile", async () => {
  const { use, order } = openCache();
  const first = await use(ann, "large", 70);
  const other = use(eve, "another", 60);
  await turn();
  const second = use(ann, "large", 70);
  await turn();
  expect(order).toEqual(["ann: large"]);
  first();
  (await other)();
  (await second)();
  expect(order).toEqual(["ann: large", "eve: another", "ann: large"]);
});

test("weights that others use, too, delay nobody but those who want more", async () => {
  const { use, order } = openCache();
  const shared = await Promise.all([use(ann, "shared", 60), use(bob, "shared", 60)]);
  const large = use(ann, "large", 50);
  await turn();
  for (const [name, bytes] of [
    ["shared", 60],
    ["small", 30],
  ] as const) {
    (await use(eve, name, bytes))();
  }
  expect(order.slice(2)).toEqual(["eve: shared", "eve: small"]);
  for (const release of shared) release();
  await large;
});

test("one key loads several models up to half of the memory, one entity up to three quarters, and others the rest", async () => {
  const { use, order } = openCache();
  await use(ann, "a", 25);
  const release = await use(ann, "b", 25);
  const others = [use(ann, "c", 25)];
  const ofBob = await use(bob, "d", 25);
  others.push(use(bob, "e", 25));
  await turn();
  (await use(eve, "f", 25))();
  expect(order).toEqual(["ann: a", "ann: b", "bob: d", "eve: f"]);
  release();
  ofBob();
  await Promise.all(others);
  expect(order.slice(4).toSorted()).toEqual(["ann: c", "bob: e"]);
});

test("weights that wait for the share of their first user load for another one", async () => {
  const { use, order } = openCache();
  const releases = [await use(ann, "a", 25), await use(ann, "b", 25)];
  const waiting = use(ann, "c", 25);
  await turn();
  expect(order).toEqual(["ann: a", "ann: b"]);
  await Promise.all([use(eve, "c", 25), waiting]);
  expect(order.slice(2).toSorted()).toEqual(["ann: c", "eve: c"]);
  for (const release of releases) release();
});

test("a model larger than the share of a key is loaded where nothing else is in use", async () => {
  const { use, order } = openCache();
  await use(ann, "large", 90);
  expect(order).toEqual(["ann: large"]);
});
