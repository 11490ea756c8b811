import { expect, test } from "vitest";
import { selectComparedRows } from "./compared-rows.js";
import { distributionOf } from "./distribution.js";
import { maxColumns, ScoreColumns } from "./score-columns.js";

const scores = (value: unknown) => JSON.stringify({ judge: value });

/** Trials by row and run. */
function columnsOf(...rows: unknown[][][]) {
  const columns = new ScoreColumns(2, undefined);
  rows.forEach((runs, row) =>
    runs.forEach((trials, run) => {
      for (const value of trials) columns.add(`row${row}`, run, scores(value), 1);
    }),
  );
  const [column] = columns.finish();
  return { columns, column };
}

test("a row counts with the mean of its trials, and what is not a number is missing", () => {
  const { columns, column } = columnsOf(
    [[true, true, false], [0.25]],
    [[null, 0.5], []],
    [[], ["good"]],
    [[[1]], [true]],
    [[false], [false, true]],
  );
  expect(column?.path).toEqual(["judge"]);
  expect(column?.runs.map(({ means }) => means)).toEqual([
    [2 / 3, 0.5, Number.NaN, Number.NaN, 0],
    [0.25, Number.NaN, Number.NaN, 1, 0.5],
  ]);
  expect(column?.runs[0]).toMatchObject({ hasBooleans: true, hasNumbers: true, hasTexts: false });
  expect(column?.runs[1]).toMatchObject({ hasBooleans: true, hasNumbers: true, hasTexts: true });
  expect(column?.runs.map(({ verdicts }) => verdicts.map(({ passes }) => passes))).toEqual([
    [true, undefined, undefined, undefined, false],
    // Half of the trials are not more than half.
    [undefined, undefined, undefined, true, false],
  ]);
  expect(column?.runs.map(({ verdicts }) => verdicts.map(({ isUnstable }) => isUnstable))).toEqual([
    [true, false, false, false, false],
    [false, false, false, false, true],
  ]);
  expect(columns.trials).toEqual([
    [3, 2, 0, 1, 1],
    [1, 0, 1, 1, 2],
  ]);
});

test("numbers that cannot be compared are missing", () => {
  const columns = new ScoreColumns(1, undefined);
  for (const [row, text] of ["1e999", "1e101", "-1e100", '{"__proto__": 2}'].entries())
    columns.add(`${row}`, 0, `{"judge":${text}}`, 1);
  const found = columns.finish();
  expect(found.map(({ path, runs }) => [path, runs[0]?.means])).toEqual([
    [["judge"], [Number.NaN, Number.NaN, -1e100, Number.NaN]],
    [
      ["judge", "__proto__"],
      [Number.NaN, Number.NaN, Number.NaN, 2],
    ],
  ]);
});

test("of many values some are compared, and the one that is asked for always", () => {
  const columns = new ScoreColumns(1, ["judge", "last"]);
  const many = Object.fromEntries(Array.from({ length: maxColumns + 5 }, (_, index) => [`v${index}`, index]));
  columns.add("row", 0, scores({ ...many, last: 7 }), 1);
  const found = columns.finish();
  expect([found.length, columns.isCut]).toEqual([maxColumns + 1, true]);
  expect(found.find(({ path }) => path[1] === "last")?.runs[0]?.means).toEqual([7]);
});

test("rows come worst first, best first or by digest, those without a difference last", () => {
  const { columns, column } = columnsOf([[1], [1]], [[1], [0.2]], [[], [1]], [[0], [1]], [[1], [0.5]]);
  const order = (more: Parameters<typeof selectComparedRows>[2]) =>
    selectComparedRows(columns, column, more).rows.map(({ row_digest }) => row_digest.slice(3));
  expect(order({})).toEqual(["1", "4", "0", "3", "2"]);
  expect(order({ sort: "improvement" })).toEqual(["3", "0", "4", "1", "2"]);
  expect(order({ lower_is_better: true })).toEqual(["3", "0", "4", "1", "2"]);
  expect(order({ sort: "row_digest", offset: 1, limit: 2 })).toEqual(["1", "2"]);
  expect(order({ only: "regressions" })).toEqual(["1", "4"]);
  expect(order({ only: "improvements" })).toEqual(["3"]);
  expect(order({ only: "improvements", lower_is_better: true })).toEqual(["4", "1"]);
  expect(selectComparedRows(columns, column, { limit: 0 })).toEqual({ rows: [], total: 5 });
  expect(selectComparedRows(columns, undefined, { limit: 1 }).rows).toEqual([
    { row_digest: "row0", values: [null, null], differences: [null, null], trials: [1, 1], unstable: [false, false] },
  ]);
});

test("runs share the bins of a distribution", () => {
  expect(
    distributionOf(
      [
        [0, 1, 4, Number.NaN],
        [2, 3.9],
      ],
      4,
    ),
  ).toEqual({
    edges: [0, 1, 2, 3, 4],
    counts: [
      [1, 1, 0, 1],
      [0, 0, 1, 1],
    ],
  });
  expect(distributionOf([[1, 0, 2 / 3]], "booleans")).toEqual({ edges: [0, 0.5, 1], counts: [[1, 2]] });
  expect(distributionOf([[5, 5], []], 10)).toEqual({ edges: [5, 5], counts: [[2], [0]] });
  expect(distributionOf([[Number.NaN], []], 10)).toEqual({ edges: [], counts: [[], []] });
});
