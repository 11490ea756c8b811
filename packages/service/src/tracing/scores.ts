import { forEachConcurrently } from "@heddle/concurrency";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { EvaluationCalls } from "../evaluation-runs/evaluation-calls.js";
import { predictionView, scoreView } from "../evaluation-runs/evaluation-views.js";
import { EvaluationWrites } from "../evaluation-runs/evaluation-writes.js";
import { refreshPrediction } from "../evaluation-runs/write-predictions.js";
import { createScore, purgeScoreFeedback } from "../evaluation-runs/write-scores.js";
import type { Caller, Services } from "../services.js";
import { internalProjects } from "../wire/internal-refs.js";
import { projectOfPath } from "../wire/project-of-path.js";

/** Trials that are ended anew at the same time. */
const refreshedAtOnce = 8;

export function scoreHandlers(services: Services): TracingHandlers<Caller>["scores"] {
  const { control, store } = services;
  const predictions = new EvaluationCalls(services, predictionView);
  const scores = new EvaluationCalls(services, scoreView);
  const writes = new EvaluationWrites(services);

  /** Ends a trial anew, if it has ended, without scores that are gone. */
  async function refreshTrial(projectId: string, trialId: string): Promise<void> {
    const request = { project_id: projectId, kind: "prediction", trial_id: trialId } as const;
    const [prediction] = await store.evaluations.find(request);
    if (prediction !== undefined) await refreshPrediction(writes, projectId, prediction);
  }

  return {
    async scoreCreate({ params, body, headers }, caller) {
      const projectId = projectOfPath(params);
      const projectOf = await internalProjects(control, caller, body);
      const prediction = await predictions.record(projectId, body.prediction_id, "prediction_id");
      const retryId = headers["X-Weave-Retry-Id"];
      const context = { projectId, userId: caller.user_id, retryId, prediction, projectOf };
      return { score_id: await createScore(writes, body, context) };
    },

    scoreList: ({ params, query, signal }) => scores.list(projectOfPath(params), query, signal),

    async scoreRead({ params, signal }) {
      return scores.read(projectOfPath(params), params.score_id, signal);
    },

    async scoreDelete({ params, query }, caller) {
      const projectId = projectOfPath(params);
      const found = await scores.existing(projectId, query.score_ids, "score_ids");
      const ids = found.map(({ id }) => id);
      if (ids.length === 0) return { num_deleted: 0 };
      await store.calls.delete(projectId, ids, caller.user_id);
      await purgeScoreFeedback(writes, projectId, ids);
      const trialIds = new Set(found.map(({ trial_id }) => trial_id).filter((id) => id !== null));
      await forEachConcurrently(trialIds, refreshedAtOnce, async (trialId) => await refreshTrial(projectId, trialId));
      return { num_deleted: ids.length };
    },
  };
}
