import { rawJson } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import { memberOf, stringMember } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { formatTime } from "@heddle/trace-model";
import type { StoredCall } from "@heddle/trace-store";
import type { RecordView } from "./evaluation-calls.js";

export const runView: RecordView<Schemas["EvaluationRunReadRes"]> = {
  kind: "run",
  noun: "evaluation run",
  columns: ["attributes", "ended_at", "exception", "summary"],
  show: (call, record) => ({
    evaluation_run_id: call.id,
    evaluation: record.evaluation,
    model: record.model,
    status: statusOf(call),
    started_at: formatTime(call.started_at),
    finished_at: call.ended_at === null ? null : formatTime(call.ended_at),
    summary: rawJson(call.summary),
    source_evaluation_run_id: textOf(marksOf(call), "source_evaluation_run_id") || null,
  }),
};

export const predictionView: RecordView<Schemas["PredictionReadRes"]> = {
  kind: "prediction",
  noun: "prediction",
  columns: ["attributes", "inputs", "output", "wb_user_id"],
  show: (call, record) => ({
    prediction_id: call.id,
    model: textOf(marksOf(call), "model") || textOf(call.inputs, "self") || record.model,
    inputs: rawJson(givenInputs(call)),
    output: rawJson(call.output),
    evaluation_run_id: record.evaluation_run_id,
    wb_user_id: call.wb_user_id,
  }),
};

export const scoreView: RecordView<Schemas["ScoreReadRes"]> = {
  kind: "score",
  noun: "score",
  columns: ["attributes", "inputs", "output", "wb_user_id"],
  show: (call, record) => ({
    score_id: call.id,
    scorer: scorerRef(call),
    value: rawJson(call.output === "null" && !isRecorded(call) ? "0" : call.output),
    prediction_id: textOf(marksOf(call), "prediction_id") || null,
    evaluation_run_id: record.evaluation_run_id,
    wb_user_id: call.wb_user_id,
  }),
};

function statusOf({ exception, ended_at }: StoredCall): "running" | "completed" | "failed" {
  if (exception !== null) return "failed";
  return ended_at === null ? "running" : "completed";
}

/** What the call says of its part in an evaluation: `attributes.weave`. */
export function marksOf({ attributes }: Pick<StoredCall, "attributes">): JsonText {
  return memberOf(attributes, "weave") ?? "{}";
}

/** A member that is a text, else ''. */
function textOf(object: JsonText, name: string): string {
  return stringMember(object, name) ?? "";
}

/** What the model was given: a prediction that was recorded here has it as an argument of its call. */
export function givenInputs(call: Pick<StoredCall, "attributes" | "inputs">): JsonText {
  const recorded = textOf(marksOf(call), "prediction") === "true" ? memberOf(call.inputs, "inputs") : undefined;
  return recorded ?? call.inputs;
}

/** The ref of the scorer: an object, or the op itself. */
function scorerRef(call: StoredCall): string {
  return textOf(marksOf(call), "scorer") || textOf(call.inputs, "self") || textOf(call.inputs, "this") || call.op_name;
}

function isRecorded(call: StoredCall): boolean {
  return textOf(marksOf(call), "score") === "true";
}
