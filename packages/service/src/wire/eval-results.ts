import { rawJson } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import { objectText } from "@heddle/exact-json";
import type { ComparedScore, ResultsRow, ResultsTrial, ScoreStats } from "@heddle/trace-store";

export function wireResultsRow({ row_digest, raw_data_row, evaluations }: ResultsRow): Schemas["EvalResultsRow"] {
  return {
    row_digest,
    raw_data_row: rawJson(raw_data_row ?? "null"),
    evaluations: evaluations.map(({ evaluation_run_id, trials }) => ({
      evaluation_call_id: evaluation_run_id,
      trials: trials.map(wireTrial),
    })),
  };
}

function wireTrial(trial: ResultsTrial): Schemas["EvalResultsTrial"] {
  return {
    predict_and_score_call_id: trial.trial_id,
    predict_call_id: trial.prediction_id,
    model_output: rawJson(trial.model_output),
    scores: rawJson(objectText(trial.scores)),
    model_latency_seconds: trial.model_latency_seconds,
    total_tokens: trial.total_tokens,
    scorer_call_ids: Object.fromEntries(trial.score_ids),
    total_cost: trial.total_cost,
    genai_span_ref: spansOf(trial.genai_span_ref),
  };
}

/** The spans as they were sent; null for what a client put there that is not a list of spans. */
function spansOf(text: string): Schemas["EvalResultsTrial"]["genai_span_ref"] {
  const { value } = rawJson(text);
  const isSpan = (one: unknown): one is Schemas["GenaiSpanRef"] =>
    typeof one === "object" &&
    one !== null &&
    "trace_id" in one &&
    "span_id" in one &&
    typeof one.trace_id === "string" &&
    typeof one.span_id === "string";
  if (!Array.isArray(value) || !value.every(isSpan)) return null;
  return value.map(({ trace_id, span_id }) => ({ trace_id, span_id }));
}

export function wireStats({ path, ...stats }: ScoreStats, trialCount: number): Schemas["EvalResultsScorerStats"] {
  return {
    ...stats,
    path: path.length === 0 ? null : path.join("."),
    trial_count: trialCount,
    pass_signal_coverage: stats.pass_known_count === 0 ? null : stats.pass_known_count / trialCount,
  };
}

export function wireComparedScore({
  path: [scorer = "", ...path],
  ...score
}: ComparedScore): Schemas["EvalComparedScore"] {
  return { ...score, scorer_key: scorer, path: path.length === 0 ? null : path.join(".") };
}
