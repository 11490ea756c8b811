import { HeddleError, withLoc } from "@heddle/errors";
import { joinPath } from "@heddle/trace-model";
import type { ApiSchemas } from "../api-schemas.js";
import { Parameters } from "../engine/parameters.js";
import { parseRowField } from "../query/row-query.js";
import { distributionOf } from "./distribution.js";
import { pairedDifference } from "./paired-difference.js";
import type { PairedDifference } from "./paired-difference.js";
import { selectComparedRows } from "./compared-rows.js";
import type { ComparedRow } from "./compared-rows.js";
import type { ResultsSource } from "./results-source.js";
import { selectTrialFields } from "./results-sql.js";
import { emptyColumn, fillTo, maxColumns, ScoreColumns } from "./score-columns.js";
import type { RunColumn, ScoreColumn } from "./score-columns.js";

/** Unchecked but for what the schema says. */
export type EvaluationComparisonQuery = ApiSchemas["EvalResultsCompareBody"] & { project_id: string };

/** One value of the scores in one run. */
interface ComparedScoreRun {
  value_type: "binary" | "continuous" | "mixed" | "text" | null;
  mean: number | null;
  count: number;
  missing: number;
  unstable: number;
  counts: number[];
  difference: (PairedDifference & { passed: number; failed: number }) | null;
}

export interface ComparedScore {
  field: string;
  path: readonly string[];
  edges: number[];
  /** The base run first. */
  runs: ComparedScoreRun[];
}

export interface EvaluationComparison {
  runs: Array<{ evaluation_run_id: string; row_count: number; trial_count: number }>;
  scores: ComparedScore[];
  /** What rows are compared by; null where no run has a number. */
  score: string | null;
  rows: ComparedRow[];
  total_rows: number;
  /** What a reader should know, in words. */
  warnings: string[];
}

const maxTrials = 200_000;
const fields = { scores: { type: "json" } } as const;

/**
 * Compares the scores of runs with those of the first of them. Throws `invalid` for a run that comes twice, `unprocessable` for
 * something that is not a score, and `too_large`.
 */
export async function compareRuns(
  source: ResultsSource,
  request: EvaluationComparisonQuery,
): Promise<EvaluationComparison> {
  const runs = [request.base, ...request.others];
  request.others.forEach((id, index) => {
    if (runs.indexOf(id) === index + 1) return;
    const what = id === request.base ? "is the base run" : "comes twice";
    throw new HeddleError("invalid", `${id} ${what}`, { loc: ["others", index] });
  });
  const wanted = request.score === undefined ? undefined : scorePath(request.score);
  const found = await readColumns(source, runs, wanted);
  const all = found.finish();
  const columns = all.filter(({ runs: of }) => of.some(hasNumber));
  const chosen = wanted === undefined ? usualColumn(columns) : columnAt(all, wanted, runs.length, found.digests.length);
  const { rows, total } = selectComparedRows(found, chosen, request);
  return {
    runs: runs.map((id, index) => ({ evaluation_run_id: id, ...sizeOf(found.trials[index] ?? []) })),
    scores: request.include_scores === false ? [] : all.map((column) => figuresOf(column, found, request.bins ?? 20)),
    score: chosen === undefined ? null : fieldOf(chosen),
    rows,
    total_rows: total,
    warnings: [
      ...(found.isCut ? [`the runs have more than ${maxColumns} values of scores; the others are left out`] : []),
      ...(chosen === undefined ? [] : warningsOf(chosen)),
    ],
  };
}

function scorePath(field: string): readonly string[] {
  return withLoc(["score"], () => {
    const { path } = parseRowField(field, fields, "comparisons");
    if (path.length === 0) throw new HeddleError("unprocessable", "names no scorer", { loc: [] });
    return path;
  });
}

/** Row after row, so that only numbers are held. */
async function readColumns(
  { engine, scope, signal }: ResultsSource,
  runs: readonly string[],
  wanted: readonly string[] | undefined,
): Promise<ScoreColumns> {
  const statement = () => {
    const p = new Parameters();
    const trials = selectTrialFields(scope(), p, { runs, columns: new Set(["scores"]) });
    const run = `indexOf(${p.bind("Array(String)", runs)}, run_id) - 1`;
    return {
      sql: `SELECT row_digest, toUInt32(${run}) AS run, scores FROM (${trials}) ORDER BY row_digest`,
      params: p,
    };
  };
  const columns = new ScoreColumns(runs.length, wanted);
  type Row = { row_digest: string; run: number; scores: string };
  let count = 0;
  for await (const row of engine.stream<Row>(statement, { signal })) {
    if (++count > maxTrials)
      throw new HeddleError("too_large", `the runs have more than ${maxTrials} trials; compare fewer`, {
        loc: ["others"],
      });
    columns.add(row.row_digest, row.run, row.scores, 1);
  }
  return columns;
}

const hasNumber = ({ hasBooleans, hasNumbers }: RunColumn) => hasBooleans || hasNumbers;

/** The first that passes or fails in the base run and another, else that has numbers there, else that has any. */
function usualColumn(columns: readonly ScoreColumn[]): ScoreColumn | undefined {
  const firstWith = (has: (run: RunColumn) => boolean) =>
    columns.find(
      ({ runs: [base, ...others] }) => base !== undefined && has(base) && (others.length === 0 || others.some(has)),
    );
  return firstWith(({ hasBooleans }) => hasBooleans) ?? firstWith(hasNumber) ?? columns[0];
}

/** The column at a path; one without values where no run has any. */
function columnAt(columns: readonly ScoreColumn[], path: readonly string[], runs: number, rows: number): ScoreColumn {
  const key = JSON.stringify(path);
  const found = columns.find((column) => JSON.stringify(column.path) === key);
  if (found !== undefined) return found;
  const empty = { path, runs: Array.from({ length: runs }, emptyColumn) };
  for (const run of empty.runs) fillTo(run, rows);
  return empty;
}

const fieldOf = ({ path }: Pick<ScoreColumn, "path">): string => joinPath(["scores", ...path]);

function sizeOf(trials: readonly number[]): { row_count: number; trial_count: number } {
  return {
    row_count: trials.filter(Boolean).length,
    trial_count: trials.reduce((sum, count) => sum + count, 0),
  };
}

function warningsOf(column: ScoreColumn): string[] {
  const types = new Set(column.runs.filter(hasNumber).map(typeOf));
  if (types.size === 0) return [`none of the runs has a number at ${fieldOf(column)}`];
  if (types.size > 1 || types.has("mixed"))
    return [`${fieldOf(column)} has booleans and numbers: true counts as 1 and false as 0`];
  return [];
}

function typeOf({ hasBooleans, hasNumbers, hasTexts }: RunColumn): ComparedScoreRun["value_type"] {
  if (hasBooleans) return hasNumbers ? "mixed" : "binary";
  if (hasNumbers) return "continuous";
  return hasTexts ? "text" : null;
}

function figuresOf(column: ScoreColumn, { trials }: ScoreColumns, bins: number): ComparedScore {
  const { path, runs } = column;
  const [base] = runs;
  const areBooleans = runs.every(({ hasNumbers }) => !hasNumbers);
  const { edges, counts } = distributionOf(
    runs.map(({ means }) => means),
    areBooleans ? "booleans" : bins,
  );
  return {
    field: fieldOf(column),
    path,
    edges,
    runs: runs.map((run, index) => {
      const known = run.means.filter((mean) => !Number.isNaN(mean));
      const difference = base === undefined || index === 0 ? undefined : pairedDifference(base.means, run.means);
      return {
        value_type: typeOf(run),
        mean: known.length === 0 ? null : meanOf(known),
        count: known.length,
        missing: sizeOf(trials[index] ?? []).row_count - known.length,
        unstable: run.verdicts.filter(({ isUnstable }) => isUnstable).length,
        counts: counts[index] ?? [],
        difference: base === undefined || difference === undefined ? null : { ...difference, ...flipsOf(base, run) },
      };
    }),
  };
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((mean, value, index) => mean + (value - mean) / (index + 1), 0);

function flipsOf(base: RunColumn, run: RunColumn): { passed: number; failed: number } {
  let [passed, failed] = [0, 0];
  for (const [row, { passes: before }] of base.verdicts.entries()) {
    const after = run.verdicts[row]?.passes;
    if (before === false && after === true) passed++;
    if (before === true && after === false) failed++;
  }
  return { passed, failed };
}
