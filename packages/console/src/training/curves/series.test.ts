import { expect, test } from "vitest";
import {
  columnsOf,
  extentOf,
  JobSeries,
  nearest,
  rangeOf,
  seriesOfCheckpoints,
  seriesOfHistory,
  smoothed,
} from "./series.js";

const created = "2026-01-01T00:00:00Z";

test("the numbers of gradient steps run over steps, time and tokens; what is not a finite number has no point", () => {
  const series = new JobSeries();
  series.add({ type: "training_started", created_at: created, data: { num_sequences: 3 } });
  const take = (index: number, seconds: number, loss: unknown) =>
    series.add({
      type: "gradient_step",
      created_at: `2026-01-01T00:00:0${seconds}Z`,
      data: { gradient_step: index, loss, num_trainable_tokens: 10 },
    });
  take(0, 1, 3);
  take(1, 3, Number.NaN);
  take(2, 4, 1);
  expect(series.over("gradient")[0]).toEqual({ name: "loss", xs: [0, 2], ys: [3, 1] });
  expect(series.over("time")[0]).toEqual({ name: "loss", xs: [1, 4], ys: [3, 1] });
  expect(series.over("tokens")[0]).toEqual({ name: "loss", xs: [10, 30], ys: [3, 1] });
  expect(series.over("gradient").map(({ name }) => name)).toEqual(["loss", "num_trainable_tokens"]);
});

test("metrics of checkpoints run over their steps, rewards first", () => {
  const checkpoints: { step: number; metrics: Record<string, number> }[] = [
    { step: 2, metrics: { "train/loss": 1, "a/b": 1, "val/reward": Infinity } },
    { step: 1, metrics: { "val/reward": 0.5 } },
  ];
  expect(seriesOfCheckpoints(checkpoints)).toEqual([
    { name: "val/reward", xs: [1], ys: [0.5] },
    { name: "train/loss", xs: [2], ys: [1] },
    { name: "a/b", xs: [2], ys: [1] },
  ]);
});

test("of a hundred thousand points, the one peak is drawn", () => {
  const xs = Array.from({ length: 100_000 }, (_, index) => index);
  const ys = xs.map((x) => (x === 54_321 ? 1000 : x === 54_400 ? -7 : 0));
  const columns = columnsOf({ xs, ys }, [0, 99_999], 800);
  expect(columns).toHaveLength(800);
  expect(Math.max(...columns.map((column) => column?.greatest ?? 0))).toBe(1000);
  expect(Math.min(...columns.map((column) => column?.least ?? 0))).toBe(-7);
  expect(columns.every((column) => column !== undefined)).toBe(true);
});

test("columns without a point are none, and one point is drawn", () => {
  expect(columnsOf({ xs: [5], ys: [2] }, [5, 5], 3)).toEqual([
    { first: 2, last: 2, least: 2, greatest: 2 },
    undefined,
    undefined,
  ]);
});

test("the cursor takes the nearest point", () => {
  expect([-5, 0.4, 0.6, 9].map((x) => nearest([0, 1, 3], x))).toEqual([0, 0, 1, 2]);
  expect(nearest([], 1)).toBe(-1);
});

test("smoothing begins at the first value and follows slowly", () => {
  expect(smoothed([2, 2, 2])).toEqual([2, 2, 2].map((value) => expect.closeTo(value)));
  expect(smoothed([0, 1])[1]).toBeCloseTo(0.526, 3);
});

test("a single point is in the middle of its axis, and what is drawn has a least and a greatest value", () => {
  expect(rangeOf([7])).toEqual([6.5, 7.5]);
  expect(rangeOf([1, 2, 9])).toEqual([1, 9]);
  expect(rangeOf([])).toEqual([0, 1]);
  expect(extentOf(columnsOf({ xs: [0, 1, 2], ys: [3, -1, 2] }, [0, 2], 10))).toEqual([-1, 3]);
  expect(extentOf([undefined])).toBeUndefined();
});

test("what clients logged runs over their steps, or over rows where steps are missing or do not rise", () => {
  const logged = (key: string, steps: (number | null)[]) => ({
    key,
    count: 2,
    sampled: false,
    rows: [3, 7],
    steps,
    times: [null, null],
    values: [0.5, 1],
  });
  const series = seriesOfHistory({
    series: [logged("zeta", [10, 20]), logged("loss", [10, 10]), logged("val/reward", [null, 20])],
  });
  expect(series.map(({ name, xs }) => [name, xs])).toEqual([
    ["val/reward", [3, 7]],
    ["loss", [3, 7]],
    ["zeta", [10, 20]],
  ]);
});
