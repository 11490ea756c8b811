import { expect, test } from "vitest";
import { mergeTurns, withoutTurns } from "./merge-turns.js";
import type { TurnCall } from "./merge-turns.js";

const turn = (id: string, second: number, seq = "1"): TurnCall => ({
  id,
  seq,
  started_at: `2026-11-28T09:00:${String(second).padStart(2, "0")}.000000Z`,
});
const page = (hasMore: boolean, ...calls: TurnCall[]) => ({ calls, has_more: hasMore });
const idsOf = (pages: readonly { calls: readonly TurnCall[] }[]) =>
  pages.map(({ calls }) => calls.map(({ id, seq }) => `${id}${seq}`));

test("a turn that changed is replaced where it is, by nothing older", () => {
  const pages = [page(true, turn("a", 1), turn("b", 2, "5")), page(false, turn("c", 3))];
  expect(idsOf(mergeTurns(pages, [turn("b", 2, "4"), turn("c", 3, "9")]))).toEqual([["a1", "b5"], ["c9"]]);
  // What was given stays as it is.
  expect(idsOf(pages)).toEqual([["a1", "b5"], ["c1"]]);
});

test("a new turn comes at the end, one that began earlier where it began", () => {
  const pages = [page(true, turn("a", 1), turn("b", 3)), page(false, turn("c", 5))];
  expect(idsOf(mergeTurns(pages, [turn("z", 9), turn("m", 2), turn("n", 4), turn("B", 3)]))).toEqual([
    ["a1", "m1", "B1", "b1"],
    ["n1", "c1", "z1"],
  ]);
  expect(idsOf(mergeTurns([page(false)], [turn("a", 1)]))).toEqual([["a1"]]);
});

test("a new turn waits for the pages before it", () => {
  expect(idsOf(mergeTurns([page(true, turn("a", 1))], [turn("z", 9)]))).toEqual([["a1"]]);
  expect(mergeTurns([], [turn("z", 9)])).toEqual([]);
});

test("a turn that was deleted is gone", () => {
  expect(idsOf(withoutTurns([page(true, turn("a", 1), turn("b", 2))], new Set(["a", "x"])))).toEqual([["b1"]]);
});
