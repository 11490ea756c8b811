import { HeddleError } from "@heddle/errors";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { EvaluationCalls } from "../evaluation-runs/evaluation-calls.js";
import { runView } from "../evaluation-runs/evaluation-views.js";
import { EvaluationWrites } from "../evaluation-runs/evaluation-writes.js";
import { createRun, finishRun } from "../evaluation-runs/write-runs.js";
import type { Caller, Services } from "../services.js";
import { internalProjects } from "../wire/internal-refs.js";
import { projectOfPath } from "../wire/project-of-path.js";

const maxIds = 1000;

export function evaluationRunHandlers(services: Services): TracingHandlers<Caller>["evaluationRuns"] {
  const { control, store } = services;
  const runs = new EvaluationCalls(services, runView);
  const writes = new EvaluationWrites(services);

  return {
    async evaluationRunCreate({ params, body, headers }, caller) {
      const projectId = projectOfPath(params);
      const context = { projectId, userId: caller.user_id, retryId: headers["X-Weave-Retry-Id"] };
      const projectOf = await internalProjects(control, caller, body);
      return { evaluation_run_id: await createRun(writes, body, context, projectOf) };
    },

    evaluationRunList({ params, query, signal }) {
      const { evaluation_run_ids: ids, ...selection } = query;
      if (ids !== undefined && ids.length > maxIds) {
        throw new HeddleError("invalid", `more than ${maxIds} ids`, { loc: ["evaluation_run_ids"] });
      }
      return runs.list(projectOfPath(params), { ...selection, ids }, signal);
    },

    async evaluationRunRead({ params, signal }) {
      return runs.read(projectOfPath(params), params.evaluation_run_id, signal);
    },

    async evaluationRunFinish({ params, body }, caller) {
      const projectId = projectOfPath(params);
      const run = await runs.record(projectId, params.evaluation_run_id, "");
      const projectOf = await internalProjects(control, caller, body);
      await finishRun(writes, run, body.summary, { projectId, userId: caller.user_id, projectOf });
      return { success: true };
    },

    async evaluationRunDelete({ params, query }, caller) {
      const projectId = projectOfPath(params);
      const found = await runs.existing(projectId, query.evaluation_run_ids, "evaluation_run_ids");
      const ids = found.map(({ id }) => id);
      if (ids.length > 0) await store.calls.delete(projectId, ids, caller.user_id);
      return { num_deleted: ids.length };
    },
  };
}
