import { expect, test } from "vitest";
import { ScoreSums } from "./score-stats.js";

test("scores are summed up by scorer and path, and what is not a number or boolean is only counted", () => {
  const sums = new ScoreSums();
  sums.add('{"a":true,"b":{"x":1,"y":{"z":"text"}},"c":null,"d":[1]}', 3);
  sums.add('{"a":false,"b":{"x":2.5},"d":NaN}', 1);
  sums.add("{}", 5);
  const stats = sums.stats().map(({ scorer_key, path, ...rest }) => [[scorer_key, ...path].join("."), rest]);
  const none = { numeric_count: 0, numeric_mean: null, pass_true_count: 0, pass_known_count: 0, pass_rate: null };
  expect(stats).toEqual([
    ["a", { ...none, value_type: "binary", pass_true_count: 3, pass_known_count: 4, pass_rate: 0.75 }],
    ["b.x", { ...none, value_type: "continuous", numeric_count: 4, numeric_mean: 1.375 }],
    ["b.y.z", { ...none, value_type: "text" }],
    ["d", { ...none, value_type: null }],
  ]);
});

test("a value of several types has the type that it has most often", () => {
  const sums = new ScoreSums();
  sums.add('{"s":1}', 2);
  sums.add('{"s":true}', 1);
  sums.add('{"s":1,"s":"the last member counts"}', 4);
  expect(sums.stats()).toMatchObject([{ value_type: "text", numeric_count: 3, pass_known_count: 1 }]);
});

test("the mean of numbers and booleans of one scorer is that of both, with 1 for true", () => {
  const sums = new ScoreSums();
  for (const score of ["true", "false", "0.5", "1"]) sums.add(`{"s":${score}}`, 1);
  expect(sums.stats()).toMatchObject([
    { numeric_count: 4, numeric_mean: 0.625, pass_true_count: 1, pass_known_count: 2, pass_rate: 0.5 },
  ]);
});

test("hostile scores do not exhaust memory", () => {
  const sums = new ScoreSums();
  const keys = Array.from({ length: 10_001 }, (_, index) => `"${index}":1`);
  sums.add(`{${keys.slice(0, 10_000).join(",")}}`, 1);
  expect(sums.isCut).toBe(false);
  sums.add(`{${keys.join(",")}}`, 1);
  expect([sums.isCut, sums.stats().length]).toEqual([true, 10_000]);
});
