import type { Parameters } from "../engine/parameters.js";
import { opNamePart } from "../query/call-columns.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import type { CallScope } from "../visibility/call-scope.js";
import type { CallSelection } from "../visibility/visible-calls.js";

/*
 * SQL of what evaluations consist of. A trial is a call with the op `<evaluation>.predict_and_score`: its parent is the
 * run, and its children are a prediction and scores. Clients mark these calls in different ways, or not at all, so the
 * tree and the names decide; see `callKinds`.
 */

/** Which trials: all conditions over the columns of `calls` must hold. Few calls meet them. */
export interface TrialConditions {
  rare?: readonly string[];
  /** The ids of the trials, where they are known: the calls below them are then found without looking for the trials. */
  ids?: readonly string[];
}

/** What `callKinds` needs to know of a trial. */
export const trialFacts = [
  "JSONExtractString(inputs, 'model') AS model",
  "JSONExtractKeys(output, 'scores') AS score_names",
  "JSONExtractString(attributes, 'weave', 'predict_call_id') AS predict_call_id",
  "isNull(latency_us) AS is_running",
];

/**
 * SELECT of trials, each once: `trial_id`, `run_id`, `trial_us`, `row_digest` and further columns, which are SQL over the
 * columns of `calls` with names of their own.
 */
export function selectTrials(
  scope: CallScope,
  p: Parameters,
  trials: TrialConditions,
  columns: readonly string[] = [],
): string {
  const union = visibleTrials(scope, p, trials, [
    "id AS trial_id",
    "parent_id AS run_id",
    "version AS trial_version",
    "toUnixTimestamp64Micro(started_at) AS trial_us",
    "example_digest AS row_digest",
    ...columns,
  ]);
  return `SELECT * EXCEPT trial_version FROM (${union}) ORDER BY trial_version DESC LIMIT 1 BY trial_id`;
}

/** Selects only calls with these ids, where they are given, and for which the conditions hold. */
export function amongIds(
  p: Parameters,
  ids: readonly string[] | undefined,
  conditions: readonly string[] = [],
): Pick<CallSelection, "prewhere" | "ids"> {
  return ids === undefined ? { prewhere: conditions } : { prewhere: [p.in("id", "String", ids), ...conditions], ids };
}

/** SELECT of trials; one that ends meanwhile may be there twice. */
function visibleTrials(
  scope: CallScope,
  p: Parameters,
  { rare = [], ids }: TrialConditions,
  select: readonly string[],
): string {
  return visibleCalls(scope, p, { select, ...amongIds(p, ids, rare), where: ["example_digest != ''"] });
}

/** Which calls below trials, and what of them. */
export interface TrialCallSelection extends TrialConditions {
  /** SQL over `call_id`, `call_us`, `columns`, the columns of `selectTrials`, `model`, and what `callKinds` names. */
  select: readonly string[];
  /** SQL over the columns of `calls`, with names of their own. */
  columns?: readonly string[];
  /** Conditions over the columns of `calls`. */
  only?: readonly string[];
  /** The ids of the calls, where only these are asked for. */
  among?: readonly string[] | undefined;
}

/** SELECT of the calls below trials, each once. It has no clause behind its joins: `WHERE` and what follows may be added. */
export function selectTrialCalls(
  scope: CallScope,
  p: Parameters,
  { select, columns = [], only = [], among, ...trials }: TrialCallSelection,
): string {
  const belowTrials =
    trials.ids === undefined
      ? `parent_id IN (${visibleTrials(scope, p, trials, ["id"])})`
      : p.in("parent_id", "String", trials.ids);
  const children = visibleCalls(scope, p, {
    select: [
      "id AS call_id",
      "parent_id AS call_parent",
      "version AS call_version",
      "toUnixTimestamp64Micro(started_at) AS call_us",
      "toString(op_name) AS call_op",
      `${opNamePart} AS call_name`,
      "if(JSONHas(inputs, 'self'), JSONExtractString(inputs, 'self'), JSONExtractString(inputs, 'this')) AS call_self",
      "JSONExtractString(attributes, 'weave', 'score') = 'true' AS is_recorded",
      "JSONExtractBool(attributes, '_weave_eval_meta', 'score') AS is_logged",
      "JSONExtractString(attributes, 'weave', 'scorer') AS call_scorer",
      ...columns,
    ],
    ...amongIds(p, among, [belowTrials, ...only]),
  });
  return `WITH ${callKinds} SELECT ${select.join(", ")}
    FROM (SELECT * EXCEPT call_version FROM (${children}) ORDER BY call_version DESC LIMIT 1 BY call_id) AS children
    INNER JOIN (${selectTrials(scope, p, trials, trialFacts)}) AS trials ON call_parent = trial_id`;
}

/** The name of the object or op that a ref leads to; '' for other text. */
const refName = (ref: string) => `decodeURLComponent(extract(${ref}, '^weave:///[^/]+/[^/]+/(?:object|op)/([^:/]+)'))`;

/**
 * What the calls below a trial are, as expressions with names. `is_score`: marked as a score, named like one, or named like
 * one of the scores in the output of the trial, and not the model. `score_name`: the name of the score. `is_added`: the
 * output of the trial does not have the score, because the trial is running or the score came later. `model_rank`: of the
 * other calls of a trial the one with the least value is the prediction.
 */
const callKinds = `
  arrayFilter(name -> name != '', [${refName("call_scorer")}, ${refName("call_self")},
    replaceRegexpOne(call_name, '\\\\.(score|invoke)$', ''), call_name]) AS names,
  arrayFirst(name -> has(score_names, name), names) AS known_name,
  (call_id = predict_call_id OR call_op = model OR (call_self != '' AND call_self = model)) AS is_model,
  (NOT is_model AND (is_recorded OR is_logged OR endsWith(call_name, '.score') OR known_name != '')) AS is_score,
  if(known_name = '', names[1], known_name) AS score_name,
  (is_score AND known_name = '' AND (is_recorded OR is_running)) AS is_added,
  multiIf(call_id = predict_call_id, 0, call_op = model, 1, is_model, 2, match(call_name, '(?i)predict|invoke'), 3, 4) AS model_rank`;

/**
 * The condition on calls below trials that they may be added scores, see `callKinds`. It reads little of the many calls that
 * are not, those of finished trials of client libraries.
 */
export function mayBeAdded(scope: CallScope, p: Parameters, trials: TrialConditions): string {
  const recorded = "JSONExtractString(attributes, 'weave', 'score') = 'true'";
  if (!scope.inFlight.mayRun(scope.project_id)) return recorded;
  const running = visibleTrials(scope, p, { ...trials, rare: [...(trials.rare ?? []), "isNull(latency_us)"] }, ["id"]);
  return `(${recorded} OR parent_id IN (${running}))`;
}

/** SELECT of the prediction of each trial. */
export function selectPredictions(scope: CallScope, p: Parameters, selection: TrialCallSelection): string {
  const calls = selectTrialCalls(scope, p, selection);
  return `${calls} WHERE NOT is_score ORDER BY trial_id, model_rank, call_us, call_id LIMIT 1 BY trial_id`;
}
