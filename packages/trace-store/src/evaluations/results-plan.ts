import { HeddleError, withLoc } from "@heddle/errors";
import { parseQuery, parseSort } from "@heddle/trace-model";
import type { Expression, SortKey } from "@heddle/trace-model";
import type { ApiSchemas } from "../api-schemas.js";
import { checkPage } from "../query/page.js";
import { parseRowField } from "../query/row-query.js";
import type { RowColumns, RowField } from "../query/row-query.js";

/** Unchecked. */
export interface EvaluationResultsQuery extends Pick<
  ApiSchemas["EvalResultsQueryBody"],
  | "filters"
  | "filter_logic_operator"
  | "include_costs"
  | "include_predict_and_score_children"
  | "include_raw_data_rows"
  | "limit"
  | "offset"
  | "require_intersection"
  | "resolve_row_refs"
  | "sort_by"
> {
  project_id: string;
  /** Each once; at most 1000. */
  evaluation_run_ids: readonly string[];
}

/** The fields of a trial, over the columns that `selectTrialFields` gives. */
const trialColumns = {
  row_digest: { type: "text" },
  scores: { type: "json" },
  output: { type: "json", column: "model_output" },
  inputs: { type: "json", column: "row_value" },
  model_latency_seconds: { type: "double" },
  total_tokens: { type: "int" },
} as const satisfies RowColumns;

export type TrialColumn = keyof typeof trialColumns;

interface ResultsFilter {
  /** Only trials of this run; undefined for all. */
  run: string | undefined;
  expression: Expression<RowField>;
}

export interface ResultsSort extends SortKey<RowField> {
  run: string | undefined;
  mode: "value" | "difference";
}

/** A request for rows, read and checked. */
export interface ResultsPlan {
  project_id: string;
  runs: readonly string[];
  /** Only rows that all runs have. */
  intersection: boolean;
  filters: readonly ResultsFilter[];
  all: boolean;
  sort: readonly ResultsSort[];
  /** The fields of trials that filters and sort use. */
  columns: ReadonlySet<TrialColumn>;
  /** By the id of a prediction, the tokens of calls below it; see `withTokensBelow`. */
  tokensBelow?: ReadonlyMap<string, number>;
}

const maxRuns = 1000;
const maxFilters = 20;

/** Throws `invalid` and `unprocessable`, with a loc in the request. */
export function planResults(request: EvaluationResultsQuery): ResultsPlan {
  const { evaluation_run_ids: runs, filters = [], sort_by: sortBy = [], limit, offset } = request;
  checkPage({ limit, offset });
  if (runs.length > maxRuns) {
    throw new HeddleError("invalid", `more than ${maxRuns} evaluation runs`, { loc: ["evaluation_run_ids"] });
  }
  if (filters.length > maxFilters) {
    throw new HeddleError("invalid", `filters has more than ${maxFilters} entries`, { loc: ["filters"] });
  }
  const columns = new Set<TrialColumn>();
  const parse = (text: string): RowField => {
    const field = parseRowField(text, trialColumns, "results");
    columns.add(field.name as TrialColumn);
    return field;
  };
  const runOf = (id: string | undefined): string | undefined => {
    if (id === undefined || runs.includes(id)) return id;
    throw new HeddleError("invalid", "is none of the evaluation runs of the request", { loc: ["evaluation_call_id"] });
  };
  const keys = parseSort(
    sortBy.map(({ field, direction }) => ({ field, direction })),
    parse,
  );
  return {
    project_id: request.project_id,
    runs,
    intersection: request.require_intersection === true && runs.length > 1,
    all: request.filter_logic_operator === "and",
    filters: filters.map(({ evaluation_call_id, query }, index) =>
      withLoc(["filters", index], () => ({
        run: runOf(evaluation_call_id),
        expression: parseQuery(query, parse),
      })),
    ),
    sort: keys.map((key, index) => {
      const { evaluation_call_id, mode = "value" } = sortBy[index] ?? {};
      const run = withLoc(["sort_by", index], () => runOf(evaluation_call_id));
      return { ...key, mode, run: mode === "difference" ? undefined : run };
    }),
    columns,
  };
}
