import { expect, test } from "vitest";
import type { HeldJob } from "./held-job.js";
import { mayEndSlice, msToNextSliceEnd, slicesToEnd } from "./slices.js";
import { sharesOf } from "./slot-shares.js";

const owner = (key: string, project = "p") => {
  const entity = key.startsWith("eve") ? "rival" : "acme";
  return { entity, key_id: key, project_id: `${entity}/${project}` };
};
const job = (key: string, age: number, project?: string, worked = age) => ({
  job: owner(key, project) as HeldJob["job"],
  sliceAge: () => age,
  workAge: () => worked,
});
const sliceMs = 10_000;
const keysOf = (jobs: { job: { key_id: string; project_id: string } }[]) => jobs.map((each) => each.job.key_id);

test("an entity and a key get no more than three quarters of the slots", () => {
  const three = sharesOf(4, [job("ann", 0), job("ann", 0), job("ann", 0)]);
  expect(three.fullEntities()).toEqual(["acme"]);
  expect(three.fullKeys()).toEqual([{ entity: "acme", key_id: "ann" }]);
  expect(sharesOf(4, [job("ann", 0), job("bob", 0), job("ann", 0)]).fullKeys()).toEqual([]);
  expect(
    sharesOf(
      8,
      Array.from({ length: 5 }, () => job("ann", 0)),
    ).fullEntities(),
  ).toEqual([]);
  expect(
    sharesOf(
      8,
      Array.from({ length: 6 }, () => job("ann", 0)),
    ).fullEntities(),
  ).toEqual(["acme"]);
  for (const slots of [1, 2]) expect(sharesOf(slots, [job("ann", 0)]).fullEntities()).toEqual(["acme"]);
  expect(sharesOf(3, [job("ann", 0)]).fullEntities()).toEqual([]);
  expect(sharesOf(3, [job("ann", 0), job("bob", 0)]).fullEntities()).toEqual(["acme"]);
});

test("after its slice a job gives its slot to one who has fewer, the oldest first", () => {
  const running = [job("ann", 11_000), job("ann", 12_000), job("bob", 20_000), job("eve", 1)];
  expect(slicesToEnd(running, [owner("eve")], { sliceMs, slots: 4 })).toEqual([running[2]]);
  expect(slicesToEnd(running, [owner("carl")], { sliceMs, slots: 4 })).toEqual([running[2]]);
  expect(slicesToEnd(running, [owner("carl"), owner("dora")], { sliceMs, slots: 4 })).toEqual([running[2], running[1]]);
  expect(slicesToEnd(running, [], { sliceMs, slots: 4 })).toEqual([]);
});

test("a job that still prepares, or has just begun to work, keeps its slot", () => {
  const running = [job("ann", 20_000, "p", 0), job("bob", 15_000, "p", 900)];
  expect(slicesToEnd(running, [owner("eve")], { sliceMs, slots: 2 })).toEqual([]);
  expect(mayEndSlice(running, sliceMs)).toBe(false);
  expect(msToNextSliceEnd(running, sliceMs)).toBe(100);
});

test("nothing is handed over to one who has as much, nor within a project", () => {
  const running = [job("ann", 11_000), job("eve", 11_000)];
  expect(slicesToEnd(running, [owner("eve"), owner("ann")], { sliceMs, slots: 2 })).toEqual([]);
  expect(slicesToEnd(running, [owner("ann", "other")], { sliceMs, slots: 2 })).toEqual([running[0]]);
  expect(slicesToEnd([job("ann", 11_000)], [owner("ann")], { sliceMs, slots: 1 })).toEqual([]);
});

test("a key with more than half of the slots gives one back soon, to another key of its entity", () => {
  const running = [job("ann", 1500), job("ann", 1400), job("ann", 10)];
  expect(slicesToEnd(running, [owner("bob"), owner("bob")], { sliceMs, slots: 4 })).toEqual([running[0]]);
  // Another entity has a slot left; with two slots the entity gives one back.
  expect(slicesToEnd(running, [owner("eve")], { sliceMs, slots: 4 })).toEqual([]);
  expect(keysOf(slicesToEnd(running.slice(0, 2), [owner("eve"), owner("eve")], { sliceMs, slots: 2 }))).toEqual([
    "ann",
  ]);
  expect(slicesToEnd(running.slice(2), [owner("bob")], { sliceMs, slots: 1 })).toEqual([]);
});

test("the runner knows when a slice ends next", () => {
  expect(msToNextSliceEnd([], sliceMs)).toBe(Infinity);
  expect(msToNextSliceEnd([job("ann", 400)], sliceMs)).toBe(600);
  expect(msToNextSliceEnd([job("ann", 4000), job("eve", 11_000)], sliceMs)).toBe(6000);
  expect(mayEndSlice([job("ann", 400)], sliceMs)).toBe(false);
  expect(mayEndSlice([job("ann", 400)], 300)).toBe(true);
});
