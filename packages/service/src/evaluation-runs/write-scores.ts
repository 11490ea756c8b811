import { HeddleError, withLoc } from "@heddle/errors";
import { objectText } from "@heddle/exact-json";
import { checkFeedback, derivedId, externalRefs, formatRef } from "@heddle/trace-model";
import type { ProjectOf } from "@heddle/trace-model";
import type { EvaluationRecord } from "@heddle/trace-store";
import type { Schemas } from "@heddle/server-stub/tracing";
import { splitProject } from "../access/project-id.js";
import { givenInputs } from "./evaluation-views.js";
import { versionRef } from "./evaluation-refs.js";
import { idFor, markedStart, nowUs } from "./evaluation-writes.js";
import type { EvaluationWrites, WriteContext } from "./evaluation-writes.js";
import { refreshPrediction } from "./write-predictions.js";

/** Writes the call of a score and the feedback on its prediction, and returns its id. */
export async function createScore(
  writes: EvaluationWrites,
  body: Schemas["ScoreCreateBody"],
  { prediction, projectOf, ...context }: WriteContext & { prediction: EvaluationRecord; projectOf: ProjectOf },
): Promise<string> {
  const { projectId, userId } = context;
  const { store } = writes.services;
  const run = prediction.evaluation_run_id ?? undefined;
  if (body.evaluation_run_id !== undefined && body.evaluation_run_id !== run) {
    const message = `the prediction ${prediction.id} is not part of this run`;
    throw new HeddleError("invalid", message, { loc: ["evaluation_run_id"] });
  }
  const scorer = versionRef(body.scorer, { name: "scorer", projectId, projectOf });
  const value = externalRefs(body.value.text, projectOf);
  const id = idFor(context, "score");
  const feedback = {
    project_id: projectId,
    id: feedbackIdOf(projectId, id),
    weave_ref: callRef(projectId, prediction.id),
    feedback_type: `wandb.runnable.${scorer.name}`,
    payload: objectText([["output", value]]),
    runnable_ref: scorer.uri,
    call_ref: callRef(projectId, id),
    wb_user_id: userId,
  };
  const { payload } = withLoc(["value"], () => checkFeedback(feedback));
  const predicted = await store.calls.read({ project_id: projectId, id: prediction.id });
  if (predicted === undefined) {
    throw new HeddleError("not_found", `there is no prediction ${prediction.id}`, { loc: ["prediction_id"] });
  }
  const now = nowUs();
  const start = markedStart(context, {
    id,
    trace_id: predicted.trace_id,
    parent_id: prediction.trial_id ?? prediction.id,
    op_name: await writes.opRef(projectId, `${scorer.name.slice(0, 100)}.score`),
    started_at: now,
    inputs: objectText([
      ["self", JSON.stringify(scorer.uri)],
      ["inputs", givenInputs(predicted)],
      ["output", predicted.output],
    ]),
    marks: { score: "true", prediction_id: prediction.id, scorer: scorer.uri, evaluation_run_id: run },
  });
  const end = { project_id: projectId, id, ended_at: now, output: value, summary: "{}" };
  await writes.ingest([{ part: "complete", start, end }]);
  await store.feedback.create({ ...feedback, payload });
  await refreshPrediction(writes, projectId, prediction);
  return id;
}

/** Removes the feedback of scores whose calls were deleted. */
export async function purgeScoreFeedback(
  { services: { store } }: EvaluationWrites,
  projectId: string,
  scoreIds: readonly string[],
): Promise<void> {
  const ids = scoreIds.map((id) => ({ $literal: feedbackIdOf(projectId, id) }));
  if (ids.length > 0) {
    await store.feedback.purge({ project_id: projectId, query: { $expr: { $in: [{ $getField: "id" }, ids] } } });
  }
}

function feedbackIdOf(projectId: string, scoreId: string): string {
  return derivedId(projectId, scoreId, 0, "feedback");
}

function callRef(projectId: string, id: string): string {
  const { entity = "", project = "" } = splitProject(projectId) ?? {};
  return formatRef({ kind: "call", entity, project, id, edges: [] });
}
