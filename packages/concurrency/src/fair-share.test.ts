import { expect, test } from "vitest";
import { FairShare } from "./fair-share.js";
import type { FairShareOptions, Sharer } from "./fair-share.js";

const messages = { key: "of the key", entity: "of the entity", all: "of all" };
const ann: Sharer = { key: "ann", entity: "acme" };
const bob: Sharer = { key: "bob", entity: "acme" };
const eve: Sharer = { key: "eve", entity: "rival" };

const share = (options: Partial<FairShareOptions> = {}) =>
  new FairShare({ capacity: 4, perKey: 2, perEntity: 3, messages, timeoutMs: 60_000, ...options });

/** Notes the names of those that were granted something, in order. */
async function noted(order: string[], shared: FairShare, sharer: Sharer): Promise<() => void> {
  const release = await shared.acquire(sharer, 1);
  order.push(sharer.key);
  return release;
}

test("a key that holds its share waits, and others do not", async () => {
  const shared = share();
  const releases = [await shared.acquire(ann, 1), await shared.acquire(ann, 1)];
  const order: string[] = [];
  const third = noted(order, shared, ann);
  await noted(order, shared, eve);
  expect(order).toEqual(["eve"]);
  releases[0]?.();
  await third;
  expect(order).toEqual(["eve", "ann"]);
});

test("all keys of an entity together leave something for other entities", async () => {
  const shared = share({ timeoutMs: 1 });
  for (const sharer of [ann, ann, bob]) await shared.acquire(sharer, 1);
  await expect(shared.acquire(bob, 1)).rejects.toMatchObject({ code: "rate_limited", message: "of the entity" });
  await expect(shared.acquire(eve, 1)).resolves.toBeTypeOf("function");
});

test("what becomes free goes to whoever holds the least, not to who came first", async () => {
  const shared = share({ capacity: 3 });
  const releases = [await shared.acquire(ann, 1), await shared.acquire(bob, 1), await shared.acquire(bob, 1)];
  const order: string[] = [];
  const waiting = [ann, ann, eve].map((sharer) => noted(order, shared, sharer));
  releases[1]?.();
  const last = await waiting[2];
  expect(order).toEqual(["eve"]);
  for (const release of [last, releases[0], releases[2]]) release?.();
  await Promise.all(waiting);
  expect(order).toEqual(["eve", "ann", "ann"]);
});

test("a request that waits too long learns whose share is used up", async () => {
  const shared = share({ timeoutMs: 1 });
  for (const sharer of [ann, ann]) await shared.acquire(sharer, 1);
  await expect(shared.acquire(ann, 1)).rejects.toMatchObject({ code: "rate_limited", message: "of the key" });
  await shared.acquire(undefined, 2);
  await expect(shared.acquire(eve, 1)).rejects.toMatchObject({ code: "busy", message: "of all" });
});

test("an aborted request leaves the queue and takes nothing", async () => {
  const shared = share({ capacity: 1 });
  const release = await shared.acquire(ann, 1);
  const leave = new AbortController();
  const waiting = shared.acquire(eve, 1, leave.signal);
  leave.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("left");
  await expect(shared.acquire(eve, 1, leave.signal)).rejects.toThrow("left");
  const next = shared.acquire(bob, 1);
  release();
  release();
  await next;
});

test("a large amount is cut to the share of a key, and is not overtaken for good by small ones", async () => {
  const shared = share({ perKey: 4, perEntity: 4 });
  const small = await shared.acquire(ann, 1);
  let granted = false;
  const large = shared.acquire(eve, 100).then((release) => {
    granted = true;
    return release;
  });
  const later = shared.acquire(bob, 1);
  expect(granted).toBe(false);
  small();
  (await large)();
  await later;
});

test("of the requests of one key, a lower priority comes first, and overtakes no other key", async () => {
  const shared = share({ capacity: 1, perKey: 1, perEntity: 1 });
  const release = await shared.acquire(bob, 1);
  const order: string[] = [];
  const waiting = [
    [eve, "eve", 0],
    [ann, "later", 0],
    [ann, "last", 1],
    [ann, "first", -5],
  ].map(async ([sharer, name, priority]) => {
    const done = await shared.acquire(sharer as Sharer, 1, undefined, priority as number);
    order.push(name as string);
    done();
  });
  release();
  await Promise.all(waiting);
  expect(order).toEqual(["eve", "first", "later", "last"]);
});

test("no more requests of a key wait than may", async () => {
  const shared = share({ capacity: 1, waitingPerKey: 1 });
  const release = await shared.acquire(ann, 1);
  const waiting = shared.acquire(ann, 1);
  await expect(shared.acquire(ann, 1)).rejects.toMatchObject({ code: "rate_limited", message: "of the key" });
  release();
  (await waiting)();
});

test("what is not free now is not waited for by those who only try", async () => {
  const share = new FairShare({ capacity: 3, perKey: 2, messages: { key: "key", entity: "entity", all: "all" } });
  const ann = { key: "ann", entity: "acme" };
  const release = share.tryAcquire(ann, 2);
  expect(release).toBeDefined();
  expect(share.tryAcquire(ann, 1)).toBeUndefined();
  expect(share.tryAcquire({ key: "bob", entity: "acme" }, 1)).toBeDefined();
  expect(share.tryAcquire({ key: "eve", entity: "rival" }, 1)).toBeUndefined();
  release?.();
  expect(share.tryAcquire({ key: "eve", entity: "rival" }, 1)).toBeDefined();
  expect(share.load).toMatchObject({ held: 2, waiting: 0 });
});
