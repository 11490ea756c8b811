import { expect, test } from "vitest";
import { chosenSelection, readChosen, toggled, writeChosen } from "./chosen.js";

test("chosen calls survive the address, whatever their ids are", () => {
  const ids = ["a,b", "100%", "*", "é/ü"];
  expect(readChosen(writeChosen(ids))).toEqual(ids);
  expect(readChosen(writeChosen("all"))).toBe("all");
  expect(readChosen("%zz,,x")).toEqual(["x"]);
  expect(readChosen()).toEqual([]);
  expect(writeChosen([])).toBeUndefined();
});

test("a call is chosen and not any more, and the hundred and first is one too many", () => {
  expect(toggled(["a"], "b")).toEqual(["a", "b"]);
  expect(toggled(["a", "b"], "a")).toEqual(["b"]);
  expect(toggled("all", "a")).toEqual(["a"]);
  expect(toggled(Array.from({ length: 100 }, String), "x")).toBeUndefined();
});

test("all are those of the conditions, and chosen ones those of their ids", () => {
  expect(chosenSelection("all", { op: "answer" }, 0)).toEqual({ filter: { op_names: ["answer"] } });
  expect(chosenSelection(["a"], { op: "answer" }, 0)).toEqual({ filter: { call_ids: ["a"] } });
});
