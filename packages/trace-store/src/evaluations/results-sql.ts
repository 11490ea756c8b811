import type { Parameters } from "../engine/parameters.js";
import { compileQuery } from "../query/expression.js";
import { leafOrNull } from "../query/json-path.js";
import { rowFields } from "../query/row-query.js";
import { numeric } from "../query/sort.js";
import { StatementSql } from "../query/statement-sql.js";
import type { CallScope } from "../visibility/call-scope.js";
import { allRows } from "../schema/read-table.js";
import type { ResultsPlan, ResultsSort, TrialColumn } from "./results-plan.js";
import { mayBeAdded, selectPredictions, selectTrialCalls, selectTrials } from "./trial-sql.js";

/** What a trial says itself of each field; '' or NULL where it says nothing. */
const ownColumns: Partial<Record<TrialColumn, string>> = {
  scores: "if(JSONType(output, 'scores') = 'Object', JSONExtractRaw(output, 'scores'), '{}') AS own_scores",
  output:
    "if(JSONHas(output, 'output'), JSONExtractRaw(output, 'output'), JSONExtractRaw(output, 'model_output')) AS model_output",
  inputs: "JSONExtractRaw(inputs, 'example') AS example",
  model_latency_seconds: `if(JSONType(output, 'model_latency') = 'Object', JSONExtract(output, 'model_latency', 'mean', 'Nullable(Float64)'),
    JSONExtract(output, 'model_latency', 'Nullable(Float64)')) AS own_latency`,
};

/** The fields as they are found with the help of other calls and tables. */
const wholeColumns: Partial<Record<TrialColumn, string>> = {
  scores: `if(empty(added), own_scores, concat(substring(own_scores, 1, length(own_scores) - 1), if(length(own_scores) > 2, ',', ''),
    arrayStringConcat(arrayMap(score -> concat(toJSONString(score.1), ':', score.2), added), ','), '}')) AS scores`,
  output: "model_output",
  inputs: "if(stored_row != '', stored_row, example) AS row_value",
  model_latency_seconds: "coalesce(prediction_us / 1e6, own_latency) AS model_latency_seconds",
  total_tokens: "total_tokens",
};

/** The tokens that were used for a prediction; NULL when none were reported. */
function predictionTokens(p: Parameters, below: ReadonlyMap<string, number> = new Map()): string {
  const own = "arraySum(`usage.total_tokens`)";
  const reportsOwn = "notEmpty(`usage.model`)";
  if (below.size === 0) return `if(${reportsOwn}, toNullable(${own}), NULL)`;
  const listOf = (type: string, list: ReadonlyArray<string | number>) =>
    `arrayConcat(${p.lists(type, list).join(", ")})`;
  const added = `transform(id, ${listOf("String", [...below.keys()])}, ${listOf("UInt64", [...below.values()])}, toUInt64(0))`;
  return `if(${reportsOwn} OR ${added} > 0, toNullable(${own} + ${added}), NULL)`;
}

type TrialFields = Pick<ResultsPlan, "runs" | "columns" | "tokensBelow">;

/** SELECT of the trials of runs, with those of their fields that are asked for. */
export function selectTrialFields(
  scope: CallScope,
  p: Parameters,
  { runs, columns, tokensBelow }: TrialFields,
): string {
  const trials = { rare: [p.in("parent_id", "String", runs)] };
  const wanted = [...columns];
  const own = wanted.flatMap((name) => ownColumns[name] ?? []);
  const joins: string[] = [];
  if (columns.has("scores")) {
    const added = selectTrialCalls(scope, p, {
      ...trials,
      columns: ["output AS call_output"],
      only: [mayBeAdded(scope, p, trials)],
      select: [
        "trial_id AS added_to",
        "score_name AS added_name",
        "argMax(call_output, (call_us, call_id)) AS added_value",
      ],
    });
    joins.push(`LEFT JOIN (SELECT added_to, groupArray((added_name, added_value)) AS added FROM
      (${added} WHERE is_added GROUP BY trial_id, score_name) GROUP BY added_to) AS late_scores ON added_to = trial_id`);
  }
  if (columns.has("model_latency_seconds") || columns.has("total_tokens")) {
    const predictions = selectPredictions(scope, p, {
      ...trials,
      columns: ["latency_us AS prediction_us", `${predictionTokens(p, tokensBelow)} AS total_tokens`],
      select: ["trial_id AS predicted_in", "prediction_us", "total_tokens"],
    });
    joins.push(`LEFT JOIN (${predictions}) AS predictions ON predicted_in = trial_id`);
  }
  if (columns.has("inputs")) {
    const digests = `SELECT row_digest FROM (${selectTrials(scope, p, trials)})`;
    joins.push(`LEFT JOIN (SELECT digest AS stored_digest, any(val) AS stored_row FROM ${allRows("table_rows")}
      WHERE project_id = ${p.bind("String", scope.project_id)} AND digest IN (${digests}) GROUP BY digest) AS stored_rows ON stored_digest = row_digest`);
  }
  const whole = ["trial_id", "run_id", "trial_us", "row_digest", ...wanted.flatMap((name) => wholeColumns[name] ?? [])];
  return `SELECT ${whole.join(", ")} FROM (${selectTrials(scope, p, trials, own)}) AS trials ${joins.join(" ")}`;
}

/** SELECT of rows: `row_digest`, `evaluations` as (run, [(time, trial)]), in an order whose keys come with it. */
export function selectRows(scope: CallScope, p: Parameters, plan: ResultsPlan): { sql: string; orderBy: string } {
  const sql = new StatementSql(p);
  const fields = rowFields(sql);
  const ofRun = (run: string | undefined) => (run === undefined ? "1" : `run_id = ${p.bind("String", run)}`);
  const tests = plan.filters.map(
    ({ run, expression }, index) =>
      `(${ofRun(run)} AND ifNull(${compileQuery(sql, expression, fields)}, 0)) AS met${index}`,
  );
  const keys = plan.sort.flatMap((key, index) => {
    const { text, number } = sortValue(sql, key);
    return [
      `if(${ofRun(key.run)}, ${text}, NULL) AS text${index}`,
      `if(${ofRun(key.run)}, ${number}, NULL) AS number${index}`,
    ];
  });
  const trials = `SELECT trial_id, run_id, trial_us, row_digest${listed([...keys, ...tests])}
    FROM (${selectTrialFields(scope, p, plan)})`;
  const ofRuns = `SELECT row_digest, run_id, groupArray((toInt64(trial_us), trial_id)) AS trials${listed([
    ...plan.filters.map((_, index) => `max(met${index}) AS any_met${index}`),
    ...plan.sort.flatMap((_, index) => [
      `min(text${index}) AS run_text${index}`,
      `sum(number${index}) AS run_sum${index}`,
      `count(number${index}) AS run_count${index}`,
    ]),
  ])} FROM (${trials}) GROUP BY row_digest, run_id`;
  const having = [
    ...(plan.intersection ? [`count() = ${p.bind("UInt64", plan.runs.length)}`] : []),
    ...(plan.filters.length === 0
      ? []
      : [`(${plan.filters.map((_, index) => `max(any_met${index}) = 1`).join(plan.all ? " AND " : " OR ")})`]),
  ];
  return {
    sql: `SELECT row_digest, groupArray((run_id, trials)) AS evaluations${listed(plan.sort.flatMap(rowKeys))}
      FROM (${ofRuns}) GROUP BY row_digest${having.length === 0 ? "" : ` HAVING ${having.join(" AND ")}`}`,
    orderBy: [...plan.sort.flatMap(rowOrder), "row_digest ASC"].join(", "),
  };
}

const listed = (columns: readonly string[]): string => columns.map((column) => `, ${column}`).join("");

/** A field as text, NULL when it is absent, and as a number, with 1 and 0 for booleans. */
function sortValue(sql: StatementSql, { field }: ResultsSort): { text: string; number: string } {
  if (!field.json) {
    const number = field.type === "text" ? "CAST(NULL, 'Nullable(Float64)')" : `toFloat64(${field.column})`;
    return { text: `CAST(toString(${field.column}), 'Nullable(String)')`, number };
  }
  const leaf = sql.named(leafOrNull(sql, field.column, field.path));
  return {
    text: leaf.first,
    number: `multiIf(${leaf.again} = 'true', 1, ${leaf.again} = 'false', 0, ${numeric(leaf.again)})`,
  };
}

function rowKeys({ mode }: ResultsSort, index: number): string[] {
  const [sum, count] = [`run_sum${index}`, `run_count${index}`];
  const value = `if(sum(${count}) = 0, NULL, sum(${sum}) / sum(${count}))`;
  const means = `maxIf(${sum} / ${count}, ${count} > 0) - minIf(${sum} / ${count}, ${count} > 0)`;
  const difference = `if(countIf(${count} > 0) < 2, NULL, ${means})`;
  return mode === "value"
    ? [`${value} AS number_key${index}`, `min(run_text${index}) AS text_key${index}`]
    : [`${difference} AS number_key${index}`];
}

function rowOrder({ mode, direction }: ResultsSort, index: number): string[] {
  const word = direction === "asc" ? "ASC" : "DESC";
  const number = `number_key${index} ${word} NULLS LAST`;
  if (mode === "difference") return [number];
  return [`isNull(text_key${index}) ASC`, number, `text_key${index} ${word} NULLS LAST`];
}
