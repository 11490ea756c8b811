import { describe, expect, it } from "vitest";
import type { WeightsSource } from "./weights-cache.js";
import { weightsCache } from "./weights-cache.js";

/** Weights of which only is recorded when they come and go. */
function recorded(bytes: number, events: string[], base?: WeightsSource["base"]): WeightsSource {
  return {
    size: async () => bytes,
    base,
    load: async (id, baseId) => void events.push(`+${id}${baseId === undefined ? "" : ` on ${baseId}`}`),
    drop: async (id) => void events.push(`-${id}`),
  };
}

describe("weights that are loaded for sampling", () => {
  it("are read once for many requests and stay for the next", async () => {
    const events: string[] = [];
    const cache = weightsCache(100);
    const source = recorded(60, events);
    const leases = await Promise.all([cache.acquire("a", source), cache.acquire("a", source)]);
    for (const lease of leases) lease.release();
    (await cache.acquire("a", source)).release();
    expect(events).toEqual([`+${leases[0].id}`]);
  });

  it("go when others need their room, the least recently used first", async () => {
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

  it("stay while a request runs on them, and others wait for another time", async () => {
    const events: string[] = [];
    const cache = weightsCache(100);
    const a = await cache.acquire("a", recorded(60, events));
    const others = recorded(60, events);
    await expect(cache.acquire("b", others)).rejects.toMatchObject({ code: "busy" });
    a.release();
    const b = await cache.acquire("b", others);
    expect(events).toEqual([`+${a.id}`, `-${a.id}`, `+${b.id}`]);
  });

  it("are refused with both numbers when they can never fit", async () => {
    const cache = weightsCache(100);
    await expect(cache.acquire("a", recorded(101, []))).rejects.toMatchObject({
      code: "too_large",
      message: expect.stringMatching(/101.*100/),
    });
  });

  it("are read anew after they were forgotten, while the old ones end what runs on them", async () => {
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
    // 40 more need room: the adapter goes, and then its base.
    await cache.acquire("other", recorded(90, events));
    expect(events.slice(2, 4)).toEqual([`-${first.id}`, `-${plus?.slice(1)}`]);
  });

  it("give their room back when reading them failed, and are tried again", async () => {
    const cache = weightsCache(100);
    const broken: WeightsSource = { ...recorded(90, []), load: () => Promise.reject(new Error("torn file")) };
    await expect(cache.acquire("a", broken)).rejects.toThrow("torn file");
    await expect(cache.acquire("a", recorded(90, []))).resolves.toMatchObject({ id: expect.stringContaining("a#") });
  });
});
