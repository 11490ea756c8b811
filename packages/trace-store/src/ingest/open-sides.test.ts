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
