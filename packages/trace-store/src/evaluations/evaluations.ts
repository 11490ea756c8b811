import type { ReadOptions } from "../context.js";
import type { Costs } from "../costs/costs.js";
import { compareRuns } from "./comparison.js";
import type { EvaluationComparison, EvaluationComparisonQuery } from "./comparison.js";
import { findRecords } from "./records.js";
import type { EvaluationRecord, EvaluationRecordQuery, EvaluationsContext } from "./records.js";
import { planResults } from "./results-plan.js";
import type { EvaluationResultsQuery } from "./results-plan.js";
import { readResults } from "./results.js";
import type { ResultsPage } from "./results.js";
import type { ResultsSource } from "./results-source.js";
import { meanOutput, summarizeResults } from "./summarize.js";
import type { RunSummary } from "./summarize.js";

/** Which trials to sum up: those of the rows that a query of results selects. */
type ResultsSummaryQuery = Pick<
  EvaluationResultsQuery,
  "project_id" | "evaluation_run_ids" | "filters" | "filter_logic_operator" | "require_intersection" | "include_costs"
>;

/**
 * Reads of evaluations, made by the service or by client libraries. All throw `invalid` or `unprocessable` for requests
 * that cannot be carried out.
 */
export interface Evaluations {
  /** Finds runs, predictions or scores, the oldest first. */
  find(request: EvaluationRecordQuery, options?: ReadOptions): Promise<EvaluationRecord[]>;
  /** Reads a page of rows with the trials of each run. */
  results(request: EvaluationResultsQuery, options?: ReadOptions): Promise<ResultsPage>;
  /** Sums up the trials of each run, in the order of the request. */
  summarize(request: ResultsSummaryQuery, options?: ReadOptions): Promise<{ row_count: number; runs: RunSummary[] }>;
  /** Compares the scores of runs with those of a base run. Also throws `too_large`. */
  compare(request: EvaluationComparisonQuery, options?: ReadOptions): Promise<EvaluationComparison>;
  /** Returns the mean of the outputs of a run that are numbers; null if none is. */
  meanOutput(request: { project_id: string; evaluation_run_id: string }): Promise<number | null>;
}

export function openEvaluations(context: EvaluationsContext & { costs: Pick<Costs, "book"> }): Evaluations {
  const sourceOf = (projectId: string, { signal }: ReadOptions = {}): ResultsSource => ({
    engine: context.engine,
    scope: () => ({ project_id: projectId, now: context.now(), inFlight: context.inFlight }),
    costs: context.costs,
    signal,
  });
  return {
    find: async (request, options) => await findRecords(context, request, options),
    results: async (request, options) =>
      await readResults(sourceOf(request.project_id, options), planResults(request), request),
    summarize: async (request, options) =>
      await summarizeResults(
        sourceOf(request.project_id, options),
        planResults(request),
        request.include_costs === true,
      ),
    compare: async (request, options) => await compareRuns(sourceOf(request.project_id, options), request),
    meanOutput: async ({ project_id, evaluation_run_id }) => await meanOutput(sourceOf(project_id), evaluation_run_id),
  };
}
