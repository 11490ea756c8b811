import { describe, expect, it } from "vitest";
import type { WeightsSource } from "./weights-cache.js";
import { weightsCache } from "./weights-cache.js";

/** Weights that only record when they are loaded and dropped. */
function recorded(bytes: number, events: string[], base?: WeightsSource["base"]): WeightsSource {
  return {
    size: async () => bytes,
    base,
    load: async (id, baseId) => void events.push(`+${id}${baseId === undefined ? "" : ` on ${baseId}`}`),
    drop: async (id) => void events.push(`-${id}`),
  };
}

describe("weights that are loaded for sampling", () => {
  it("are loaded once for many requests and stay loaded", async () => {
    const events: string[] = [];
    const cache = weightsCache(100);
    const source = recorded(60, events);
    const leases = await Promise.all([cache.acquire("a", source), cache.acquire("a", source)]);
    for (const lease of leases) lease.release();
    (await cache.acquire("a", source)).release();
    expect(events).toEqual([`+${leases[0].id}`]);
  });

  it("are dropped when others need their memory, the least recently used first", async () => {
    const events: string[] = [];
    const cache = weightsCache(100);
    const sources = { a: recorded(40, events), b: recorded(40, events), c: recorded(40, events) };
    const a = await cache.acquire("a", sources.a);
    a.release();
    const b = await cache.acquire("b", sources.b);
    b.release();
    (await cache.acquire("a", sources.a)).release();
    const c = await cache.acquire("c", sources.c);
    expect(events).toEqual([`+${a.id}`, `+${b.id}`, `-${b.id}`, `+${c.id}`]);
  });

  it("are kept while a request uses them, and others are rejected as busy", async () => {
    const events: string[] = [];
    const cache = weightsCache(100);
    const a = await cache.acquire("a", recorded(60, events));
    const others = recorded(60, events);
    await expect(cache.acquire("b", others)).rejects.toMatchObject({ code: "busy" });
    a.release();
    const b = await cache.acquire("b", others);
    expect(events).toEqual([`+${a.id}`, `-${a.id}`, `+${b.id}`]);
  });

  it("are refused with both sizes if they exceed the limit", async () => {
    const cache = weightsCache(100);
    await expect(cache.acquire("a", recorded(101, []))).rejects.toMatchObject({
      code: "too_large",
      message: expect.stringMatching(/101.*100/),
    });
  });

  it("are loaded again after invalidation, while running requests finish on the old ones", async () => {
    const events: string[] = [];
    const cache = weightsCache(100);
    const source = recorded(40, events);
    const old = await cache.acquire("a", source);
    await cache.invalidate("a");
    const fresh = await cache.acquire("a", source);
    expect(fresh.id).not.toBe(old.id);
    expect(events).toEqual([`+${old.id}`, `+${fresh.id}`]);
    old.release();
    old.release();
    expect(events).toEqual([`+${old.id}`, `+${fresh.id}`, `-${old.id}`]);
  });

  it("keep the base of an adapter for as long as the adapter is there", async () => {
    const events: string[] = [];
    const cache = weightsCache(100);
    const base = recorded(50, events);
    const adapter = recorded(20, events, { name: "base", source: base });
    const first = await cache.acquire("adapter", adapter);
    first.release();
    const [plus, plusAdapter] = events;
    expect(plusAdapter).toBe(`+${first.id} on ${plus?.slice(1)}`);
    // 40 more bytes are needed: the adapter is dropped, then its base.
    await cache.acquire("other", recorded(90, events));
    expect(events.slice(2, 4)).toEqual([`-${first.id}`, `-${plus?.slice(1)}`]);
  });

  it("free their memory when loading fails, and are retried", async () => {
    const cache = weightsCache(100);
    const broken: WeightsSource = { ...recorded(90, []), load: () => Promise.reject(new Error("torn file")) };
    await expect(cache.acquire("a", broken)).rejects.toThrow("torn file");
    await expect(cache.acquire("a", recorded(90, []))).resolves.toMatchObject({ id: expect.stringContaining("a#") });
  });
});
