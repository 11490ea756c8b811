import { expect, test } from "vitest";
import { idsIn, idsText, readEvaluationsSearch } from "./evaluations-search.js";
import { nameInRef, shortRef } from "./run-names.js";
import { meanOf, missingOf, scoreName, scoreText } from "./score-text.js";

test("ids of any characters are in an address, each once", () => {
  const ids = ["a,b", "50%", "%2C", "plain"];
  expect(idsIn(idsText(ids))).toEqual(ids);
  expect(idsIn("a,a,b")).toEqual(["a", "b"]);
  expect([idsIn(undefined), idsText([])]).toEqual([[], undefined]);
  expect(readEvaluationsSearch({ base: "x", vs: 3, at: "", chosen: "y".repeat(10_001) })).toEqual({ base: "x" });
});

test("a ref is shown by its name and the beginning of its digest, other texts as they are", () => {
  expect(shortRef("weave:///a/b/object/exam:xDArxqvA7PGI1cHhFrgjLN8e")).toBe("exam:xDArxq…");
  expect(nameInRef("weave:///a/b/op/f%20g:v3")).toEqual({ name: "f g", version: "v3" });
  expect([shortRef("weave:///a/b/op/100%:v3"), shortRef("<b>"), shortRef("")]).toEqual(["100%:v3", "<b>", ""]);
});

test("a score that failed is missing from the mean, not 0 in it", () => {
  const judge = { scorer_key: "judge", path: "correct", value_type: "binary" as const, trial_count: 10 };
  const some = { ...judge, pass_known_count: 8, pass_true_count: 4, pass_rate: 0.5, numeric_count: 0 };
  expect([scoreName(some), meanOf(some), missingOf(some)]).toEqual(["judge.correct", 0.5, 2]);
  const text = { scorer_key: "tone", path: null, value_type: "text" as const, trial_count: 10 };
  expect([scoreName(text), meanOf(text)]).toEqual(["tone", undefined]);
  expect([scoreText(1 / 3), scoreText(12_345.6), scoreText(-0)]).toEqual(["0.333", "12300", "-0"]);
});
