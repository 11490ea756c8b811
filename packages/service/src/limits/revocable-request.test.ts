import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { BodyTooLarge } from "@heddle/server-stub";
import type { HttpRequest } from "@heddle/server-stub";
import { RevocableRequest } from "./revocable-request.js";

const ann = { key: "ann", entity: "acme" };
const bob = { key: "bob", entity: "acme" };
const eve = { key: "eve", entity: "rival" };
const limit = 32 * 1024 * 1024;

/** A request whose body inflates to so many bytes; `running` counts how many large ones are inflated. */
function requestOf(sharer: typeof ann, size: number, running: { now: number; most: number }) {
  const { signal } = new AbortController();
  const request: HttpRequest = {
    method: "POST",
    target: "/",
    signal,
    header: () => undefined,
    bytes: async () => new Uint8Array(1),
    async *stream() {},
    async inflate(_encoding, _bytes, most) {
      if (size > most) throw new BodyTooLarge();
      running.most = Math.max(running.most, ++running.now);
      await delay(20);
      running.now--;
      return new Uint8Array(size);
    },
  };
  return new RevocableRequest(request, () => sharer);
}

async function inflateAll(requests: RevocableRequest[]): Promise<number[]> {
  const all = await Promise.all(requests.map((request) => request.inflate("gzip", new Uint8Array(1), limit)));
  return all.map(({ length }) => length);
}

test("an entity inflates one large body at a time, another one beside it", async () => {
  const running = { now: 0, most: 0 };
  const size = 2_000_000;
  await inflateAll([ann, ann, bob, bob].map((sharer) => requestOf(sharer, size, running)));
  expect(running.most).toBe(1);
  await inflateAll([ann, ann, eve, eve].map((sharer) => requestOf(sharer, size, running)));
  expect(running.most).toBe(2);
});

test("small bodies wait for nothing, and too large ones are refused", async () => {
  const running = { now: 0, most: 0 };
  const requests = Array.from({ length: 10 }, () => requestOf(ann, 50_000, running));
  expect(await inflateAll(requests)).toEqual(requests.map(() => 50_000));
  expect(running.most).toBe(10);
  await expect(inflateAll([requestOf(ann, limit + 1, running)])).rejects.toBeInstanceOf(BodyTooLarge);
});

test("parts of a response that take long give way to others", async () => {
  const order: string[] = [];
  const write = async (name: string) => {
    const request = requestOf(name === "eve" ? eve : ann, 0, { now: 0, most: 0 });
    const body = request.cutOff(async (sink) => {
      for (let part = 0; part < 4; part++) {
        await sink.write("x".repeat(70_000));
        order.push(name);
      }
    });
    await body({ closed: false, write: () => undefined, onClose: () => {} });
  };
  await Promise.all([...Array.from({ length: 10 }, async () => await write("ann")), write("eve")]);
  // Of ten times as many parts of another entity, no more come first than it takes turns for.
  expect(order.lastIndexOf("eve")).toBeLessThan(20);
});

test("responses that compute while they are written take turns", async () => {
  const order: string[] = [];
  const compute = async (name: string) => {
    const body = requestOf(name === "eve" ? eve : ann, 0, { now: 0, most: 0 }).cutOff(async (sink) => {
      for (let part = 0; part < 4; part++) {
        await sink.giveWay?.();
        order.push(name);
      }
    });
    await body({ closed: false, write: () => undefined, onClose: () => {} });
  };
  await Promise.all([...Array.from({ length: 10 }, async () => await compute("ann")), compute("eve")]);
  expect(order).toHaveLength(44);
  expect(order.lastIndexOf("eve")).toBeLessThan(20);
});
