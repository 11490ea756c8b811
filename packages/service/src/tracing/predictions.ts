import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { EvaluationCalls } from "../evaluation-runs/evaluation-calls.js";
import { predictionView, runView } from "../evaluation-runs/evaluation-views.js";
import { EvaluationWrites } from "../evaluation-runs/evaluation-writes.js";
import { createPrediction, finishPrediction } from "../evaluation-runs/write-predictions.js";
import type { Caller, Services } from "../services.js";
import { internalProjects } from "../wire/internal-refs.js";
import { projectOfPath } from "../wire/project-of-path.js";

export function predictionHandlers(services: Services): TracingHandlers<Caller>["predictions"] {
  const { control, store } = services;
  const runs = new EvaluationCalls(services, runView);
  const predictions = new EvaluationCalls(services, predictionView);
  const writes = new EvaluationWrites(services);

  return {
    async predictionCreate({ params, body, headers }, caller) {
      const projectId = projectOfPath(params);
      const projectOf = await internalProjects(control, caller, body);
      const { evaluation_run_id: runId } = body;
      const run = runId === undefined ? undefined : await runs.record(projectId, runId, "evaluation_run_id");
      const context = { projectId, userId: caller.user_id, retryId: headers["X-Weave-Retry-Id"], run, projectOf };
      return { prediction_id: await createPrediction(writes, body, context) };
    },

    predictionList: ({ params, query, signal }) => predictions.list(projectOfPath(params), query, signal),

    async predictionRead({ params, signal }) {
      return predictions.read(projectOfPath(params), params.prediction_id, signal);
    },

    async predictionFinish({ params }) {
      const projectId = projectOfPath(params);
      await finishPrediction(writes, projectId, await predictions.record(projectId, params.prediction_id, ""));
      return { success: true };
    },

    async predictionDelete({ params, query }, caller) {
      const projectId = projectOfPath(params);
      const found = await predictions.existing(projectId, query.prediction_ids, "prediction_ids");
      // In a run, the call around a prediction is nothing without it.
      const ids = found.map(({ id, trial_id }) => trial_id ?? id);
      if (ids.length > 0) await store.calls.delete(projectId, ids, caller.user_id);
      return { num_deleted: ids.length };
    },
  };
}
