import * as fc from "fast-check";
import { expect, test } from "vitest";
import { orderTrace } from "./order-trace.js";
import type { OrderOptions } from "./order-trace.js";

/** Calls by their start, as `id<parent`. */
async function ordered(calls: string, options: Partial<OrderOptions> = {}) {
  const pairs = calls
    .split(" ")
    .filter(Boolean)
    .map((call) => call.split("<"));
  const ids = pairs.map(([id = ""]) => id);
  const tree = { ids, parentIds: pairs.map(([, parent = ""]) => parent) };
  const { calls: order, parent, ...rest } = await orderTrace(tree, { limit: 100, ...options });
  const nameOf = (place: number | undefined) => (place === undefined || place < 0 ? "" : ids[order[place] ?? -1]);
  return { ...rest, text: order.map((call, place) => `${ids[call]}<${nameOf(parent[place])}`).join(" ") };
}

test("calls come depth-first, siblings by start, whenever their parents start", async () => {
  const { text, children, total, cycles } = await ordered("c<b a b<a d<a e<c f");
  expect(text).toBe("a< b<a c<b e<c d<a f<");
  expect(children).toEqual([2, 1, 1, 0, 0, 0]);
  expect([total, cycles]).toEqual([6, 0]);
});

test("orphans are together where the first of them starts, with what is below them", async () => {
  const { text, missing } = await ordered("r x<gone a<r y<gone z<x s w<lost");
  expect(text).toBe("r< a<r x< z<x y< s< w<");
  expect(missing).toEqual([
    { id: "gone", first: 2, children: 2 },
    { id: "lost", first: 6, children: 1 },
  ]);
});

test("circles are cut above their first call and counted", async () => {
  expect(await ordered("a<c b<a c<b d<b e<e")).toMatchObject({ text: "a< b<a c<b d<b e<", cycles: 2, total: 5 });
});

test("a limit cuts the end, a depth the leaves; what there is counts", async () => {
  const calls = "a b<a c<b d<b e x<gone y<x";
  expect(await ordered(calls, { limit: 3 })).toMatchObject({ text: "a< b<a c<b", total: 7, missing: [] });
  expect(await ordered(calls, { maxDepth: 1 })).toMatchObject({ text: "a< e< x<", children: [1, 0, 1], total: 7 });
  expect(await ordered(calls, { maxDepth: 2 })).toMatchObject({ text: "a< b<a e< x< y<x", total: 7 });
});

test("a subtree is that of a call, or of one that is missing", async () => {
  const calls = "a b<a c<b d<a x<gone y<gone";
  expect(await ordered(calls, { rootId: "b" })).toMatchObject({ text: "b< c<b", total: 2 });
  expect(await ordered(calls, { rootId: "c" })).toMatchObject({ text: "c<", total: 1 });
  expect(await ordered(calls, { rootId: "gone" })).toMatchObject({
    text: "x< y<",
    total: 2,
    missing: [{ id: "gone", first: 0, children: 2 }],
  });
  expect(await ordered(calls, { rootId: "nobody" })).toMatchObject({ text: "", total: 0 });
});

test("what is below a parent that was not read is left out", async () => {
  expect(await ordered("a x<later y<x", { unread: new Set(["later"]) })).toMatchObject({ text: "a<", missing: [] });
});

test("any calls come once, each below its parent if that is there", async () => {
  const trees = fc.array(fc.nat(12), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(trees, async (parents) => {
      const ids = parents.map((_, at) => String(at));
      const parentIds = parents.map((parent) => (parent === 0 ? "" : String(parent - 1)));
      const { calls, parent, missing, cycles, children } = await orderTrace({ ids, parentIds }, { limit: 100 });
      expect(calls.toSorted((a, b) => a - b)).toEqual(parents.map((_, at) => at));
      const tops = calls.filter((_, place) => parent[place] === -1);
      const roots = parentIds.filter((id) => id === "" || !ids.includes(id)).length;
      expect(tops).toHaveLength(roots + cycles);
      for (const [place, above] of parent.entries()) {
        if (above === -1) continue;
        expect(above).toBeLessThan(place);
        expect(ids[calls[above] ?? -1]).toBe(parentIds[calls[place] ?? -1]);
      }
      expect(children.reduce((sum, n) => sum + n, 0)).toBe(calls.length - tops.length);
      for (const { id, first, children: n } of missing) {
        const below = calls.filter((call) => parentIds[call] === id);
        expect([below[0], below.length]).toEqual([calls[first], n]);
      }
    }),
    { numRuns: 500 },
  );
});
