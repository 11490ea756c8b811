import { memberOf, objectText } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { externalRefs } from "@heddle/trace-model";
import type { CallPart, ProjectOf } from "@heddle/trace-model";
import type { EvaluationRecord, StoredCall } from "@heddle/trace-store";
import type { Schemas } from "@heddle/server-stub/tracing";
import { marksOf } from "./evaluation-views.js";
import { versionRef } from "./evaluation-refs.js";
import { idFor, markedStart, nowUs } from "./evaluation-writes.js";
import type { EvaluationWrites, WriteContext } from "./evaluation-writes.js";

/** Writes the call of a prediction, in a run also the start of the call around it, and returns its id. */
export async function createPrediction(
  writes: EvaluationWrites,
  body: Schemas["PredictionCreateBody"],
  { run, projectOf, ...context }: WriteContext & { run: EvaluationRecord | undefined; projectOf: ProjectOf },
): Promise<string> {
  const { projectId } = context;
  const model = versionRef(body.model, { name: "model", projectId, projectOf });
  const inputs = externalRefs(body.inputs.text, projectOf);
  const output = externalRefs(body.output.text, projectOf);
  const id = idFor(context, "prediction");
  const now = nowUs();
  const trialId = idFor(context, "predict_and_score");
  const spans = body.genai_span_ref;
  const parts: CallPart[] = [];
  if (run !== undefined) {
    const start = markedStart(context, {
      id: trialId,
      trace_id: run.trace_id,
      parent_id: run.id,
      op_name: await writes.opRef(projectId, "Evaluation.predict_and_score"),
      started_at: now,
      inputs: objectText([
        ["self", JSON.stringify(run.evaluation)],
        ["model", JSON.stringify(model.uri)],
        ["example", inputs],
      ]),
      marks: { predict_call_id: id },
    });
    parts.push({ part: "start", start });
  }
  const start = markedStart(context, {
    id,
    trace_id: run?.trace_id ?? id,
    parent_id: run === undefined ? undefined : trialId,
    op_name: await writes.opRef(projectId, `${model.name.slice(0, 100)}.predict`),
    started_at: now,
    inputs: objectText([
      ["self", JSON.stringify(model.uri)],
      ["inputs", inputs],
    ]),
    marks: { prediction: "true", model: model.uri, evaluation_run_id: run?.id, genai_span_ref: spans },
  });
  parts.push({ part: "complete", start, end: { project_id: projectId, id, ended_at: now, output, summary: "{}" } });
  await writes.ingest(parts);
  return id;
}

/**
 * Ends the call around a prediction with the output of the prediction and its scores, again if it has ended. Does nothing
 * without such a call, or when a client has ended one of its own.
 */
export async function finishPrediction(
  writes: EvaluationWrites,
  projectId: string,
  { id, trial_id: trialId }: Pick<EvaluationRecord, "id" | "trial_id">,
): Promise<void> {
  if (trialId === null) return;
  const { store } = writes.services;
  const [trial, prediction, scores] = await Promise.all([
    store.calls.read({ project_id: projectId, id: trialId }),
    store.calls.read({ project_id: projectId, id }),
    scoresOf(writes, projectId, trialId),
  ]);
  if (trial === undefined || prediction === undefined) return;
  if (trial.ended_at !== null && !isRecorded(trial)) return;
  const latency = Number(prediction.latency_us ?? 0n) / 1e6;
  const output = objectText([
    ["output", prediction.output],
    ["scores", objectText(scores)],
    ["model_latency", JSON.stringify({ mean: latency })],
  ]);
  const end = {
    project_id: projectId,
    id: trialId,
    ended_at: trial.ended_at ?? nowUs(),
    started_at: trial.started_at,
    output,
    summary: trial.summary,
    exception: trial.exception ?? undefined,
  };
  await writes.ingest([{ part: "end", end }]);
}

/** Ends the call around a prediction anew if it has ended, so that its output shows the scores as they are now. */
export async function refreshPrediction(
  writes: EvaluationWrites,
  projectId: string,
  prediction: Pick<EvaluationRecord, "id" | "trial_id">,
): Promise<void> {
  const { trial_id: trialId } = prediction;
  if (trialId === null) return;
  const trial = await writes.services.store.calls.read({ project_id: projectId, id: trialId });
  if (trial !== undefined && trial.ended_at !== null) await finishPrediction(writes, projectId, prediction);
}

function isRecorded(trial: StoredCall): boolean {
  return memberOf(marksOf(trial), "predict_call_id") !== undefined;
}

/** The scores of a trial by name; of several of one name the last. */
async function scoresOf(
  { services: { store } }: EvaluationWrites,
  projectId: string,
  trialId: string,
): Promise<Map<string, JsonText>> {
  const outputs = new Map<string, JsonText>();
  const readOutputs = async () => {
    const filter = { parent_ids: [trialId] };
    for await (const call of store.calls.query({ project_id: projectId, filter, columns: ["output"] })) {
      outputs.set(call.id, call.output);
    }
  };
  const [records] = await Promise.all([
    store.evaluations.find({ project_id: projectId, kind: "score", trial_id: trialId }),
    readOutputs(),
  ]);
  return new Map(records.map(({ id, scorer }) => [scorer, outputs.get(id) ?? "null"]));
}
