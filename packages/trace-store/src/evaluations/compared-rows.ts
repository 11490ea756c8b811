import type { ApiSchemas } from "../api-schemas.js";
import { differenceOf } from "./paired-difference.js";
import type { ScoreColumn, ScoreColumns } from "./score-columns.js";

/** One row of data in all runs; lists are in the order of the runs, the base run first. */
export interface ComparedRow {
  row_digest: string;
  values: Array<number | null>;
  differences: Array<number | null>;
  trials: number[];
  unstable: boolean[];
}

type RowSelection = Pick<
  ApiSchemas["EvalResultsCompareBody"],
  "include_rows" | "lower_is_better" | "limit" | "offset" | "only" | "sort"
>;

/** What changed in a row, over all runs but the base run, or what a run alone has there; more is better. */
interface Change {
  row: number;
  worst: number;
  best: number;
}

/** The page of rows that a request asks for, and how many there are. */
export function selectComparedRows(
  { digests, trials }: Pick<ScoreColumns, "digests" | "trials">,
  column: ScoreColumn | undefined,
  {
    include_rows = true,
    lower_is_better = false,
    limit = 100,
    offset = 0,
    only = "all",
    sort = "regression",
  }: RowSelection,
): { rows: ComparedRow[]; total: number } {
  const differencesOf = (row: number): number[] => {
    const [base, ...others] = column?.runs ?? [];
    return others.map(({ means }) => differenceOf(base?.means[row] ?? Number.NaN, means[row] ?? Number.NaN));
  };
  const single = trials.length === 1 ? column?.runs[0] : undefined;
  const ranksOf = (row: number) => (single === undefined ? differencesOf(row) : [single.means[row] ?? Number.NaN]);
  const changes = digests.map((_, row): Change => {
    const known = ranksOf(row)
      .filter((difference) => !Number.isNaN(difference))
      .map((difference) => (lower_is_better ? -difference : difference));
    return { row, worst: Math.min(...known), best: Math.max(...known) };
  });
  const flips = (row: number) => {
    const [base, ...others] = (column?.runs ?? []).map(({ verdicts }) => verdicts[row]?.passes);
    return base !== undefined && others.some((passes) => passes !== undefined && passes !== base);
  };
  const isUnstable = (row: number) => column?.runs.some(({ verdicts }) => verdicts[row]?.isUnstable) === true;
  const isIn: Record<typeof only, (change: Change) => boolean> = {
    all: () => true,
    // A run alone has none.
    regressions: ({ worst }) => single === undefined && worst < 0,
    // Without a difference the best one is -Infinity.
    improvements: ({ best }) => single === undefined && best > 0,
    flips: ({ row }) => flips(row),
    unstable: ({ row }) => isUnstable(row),
  };
  const found = changes.filter(isIn[only]);
  // Digests come in order, and sorting keeps it where rows are equal.
  if (sort === "regression") found.sort((a, b) => compare(a.worst, b.worst));
  if (sort === "improvement") found.sort((a, b) => compare(b.best, a.best));
  const page = include_rows ? found.slice(offset, offset + limit) : [];
  return {
    total: found.length,
    rows: page.map(({ row }) => ({
      row_digest: digests[row] ?? "",
      values: (column?.runs ?? trials.map(() => undefined)).map((run) => orNull(run?.means[row])),
      differences: [null, ...(column === undefined ? trials.slice(1).map(() => null) : differencesOf(row).map(orNull))],
      trials: trials.map((ofRun) => ofRun[row] ?? 0),
      unstable: trials.map((_, run) => column?.runs[run]?.verdicts[row]?.isUnstable === true),
    })),
  };
}

/** Infinity says that there is no difference: it comes last in both orders. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

const orNull = (value: number | undefined): number | null =>
  value === undefined || Number.isNaN(value) ? null : value;
