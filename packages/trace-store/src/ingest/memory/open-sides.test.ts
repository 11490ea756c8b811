import { expect, it } from "vitest";
import { hasEnd, hasStart, OpenSides } from "./open-sides.js";

const call = (id: string, projectId = "e/p") => ({ project_id: projectId, id });

it("knows which projects have running calls", () => {
  const open = new OpenSides();
  open.loaded();
  open.set(call("a"), 1n, hasStart);
  open.set(call("a"), 1n, hasStart);
  open.set(call("b"), 0n, hasEnd);
  open.set(call("b", "e/ends"), 0n, hasEnd);
  expect(["e/p", "e/ends", "e/none"].map((project) => open.mayRun(project))).toEqual([true, false, false]);
  expect(["e/p", "e/ends", "e/none"].map((project) => open.running(project))).toEqual([1, 0, 0]);
  open.delete(call("a"));
  expect(open.mayRun("e/p")).toBe(false);
  open.set(call("b"), 2n, hasStart | hasEnd);
  expect(open.mayRun("e/p")).toBe(true);
  open.delete(call("b"));
  open.delete(call("b"));
  expect(open.mayRun("e/p")).toBe(false);
});

it("takes every project for one with running calls until all are loaded", () => {
  const open = new OpenSides();
  expect(open.mayRun("e/p")).toBe(true);
  expect(open.running("e/p")).toBeUndefined();
  open.loaded();
  expect(open.mayRun("e/p")).toBe(false);
  open.clear();
  expect(open.mayRun("e/p")).toBe(true);
});

it("knows which traces have running calls", () => {
  const open = new OpenSides();
  open.loaded();
  const running = (...traceIds: string[]) => open.mayRun("e/p", { traceIds });
  open.set(call("a"), 1n, hasStart, "t1");
  open.set(call("b"), 1n, hasStart, "t1");
  open.set(call("c", "e/other"), 1n, hasStart, "t2");
  expect([running("t1"), running("t2"), running("t2", "t1"), running()]).toEqual([true, false, true, false]);
  expect(open.mayRun("e/p")).toBe(true);
  open.delete(call("a"));
  expect(running("t1")).toBe(true);
  // Its end comes, and then another start.
  open.set(call("b"), 1n, hasStart | hasEnd);
  expect(running("t1")).toBe(true);
  open.set(call("b"), 2n, hasStart, "t3");
  expect([running("t1"), running("t3")]).toEqual([false, true]);
  open.delete(call("b"));
  open.set(call("d"), 1n, hasStart, "t4");
  expect([running("t3"), running("t4")]).toEqual([false, true]);
  expect(open.mayRun("e/p", { ids: ["d"], traceIds: ["t3"] })).toBe(false);
});

it("remembers no call when there are too many, and says so", () => {
  const open = new OpenSides(100_000);
  open.loaded();
  for (let n = 0; !open.tooMany; n++) open.set(call(`c${n}`), 1n, hasStart, `t${n}`);
  expect(open.bytes).toBeLessThan(100_000);
  expect([open.has("anything"), open.running("e/p"), open.isEmpty]).toEqual([undefined, undefined, false]);
  expect([open.mayRun("e/none"), open.mayRun("e/p", { ids: ["new"], traceIds: ["new"] })]).toEqual([true, true]);
  expect(open.flags("anything")).toBe(hasStart | hasEnd);
  open.delete(call("c0"));
  open.loaded();
  expect(open.running("e/p")).toBeUndefined();
  open.clear();
  open.loaded();
  expect([open.tooMany, open.mayRun("e/p"), open.running("e/p")]).toEqual([false, false, 0]);
});
