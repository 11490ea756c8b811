import { HeddleError } from "@heddle/errors";
import type { NewJob } from "@heddle/control-plane";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { stringMember } from "@heddle/exact-json";
import { derivedId, newId } from "@heddle/trace-model";
import { checkPredictions, loadCallScorers, loadScorers, located, planRun } from "../evaluation-service/plan-run.js";
import type { RunIdentity } from "../evaluation-service/run-calls.js";
import { newRunJob } from "../evaluation-service/run-job.js";
import { RunRecorder } from "../evaluation-service/run-recorder.js";
import { runStatus } from "../evaluation-service/run-status.js";
import { countFinishedItems, readRun } from "../evaluation-service/stored-run.js";
import { nowUs } from "../evaluation-service/with-deadline.js";
import { evaluateKind } from "../evaluation-service/evaluate.js";
import { rescoreKind } from "../evaluation-service/rescore.js";
import { rankCallsKind } from "../evaluation-service/rank-calls.js";
import { scoreCallsKind } from "../evaluation-service/score-calls.js";
import type { ScoreCallsPayload } from "../evaluation-service/score-calls.js";
import type { Caller, Services } from "../services.js";

export function evaluationServiceHandlers(services: Services): TracingHandlers<Caller>["evaluationService"] {
  const { jobs } = services;
  const recorder = new RunRecorder(services, () => undefined);

  /** Adds a job. Returns false for one that an earlier attempt of the same request added. */
  async function addOnce(job: NewJob): Promise<boolean> {
    return await jobs.add(job).then(
      () => true,
      (error: unknown) => {
        if (error instanceof HeddleError && error.code === "conflict") return false;
        throw error;
      },
    );
  }

  /** Adds the job of a run and makes the run visible, unless the job did so before. */
  async function begin(kind: string, run: RunIdentity, job: Parameters<typeof newRunJob>[2]): Promise<string> {
    if (await addOnce(newRunJob(kind, run, job))) {
      // The job is stored and writes the start, too: an error here changes nothing for the caller.
      await recorder.start(run).catch(() => undefined);
    }
    return run.run_id;
  }

  return {
    async evaluateModel({ body, headers }, caller) {
      const { project_id } = body;
      const plan = await planRun(services, project_id, body);
      const run: RunIdentity = {
        project_id,
        run_id: idOf(project_id, headers["X-Weave-Retry-Id"], evaluateKind),
        evaluation_ref: plan.evaluation_ref,
        model_ref: plan.model.ref,
        user_id: caller.user_id,
        started_at: nowUs(),
        ...(plan.display_name !== undefined && { display_name: plan.display_name }),
      };
      return { call_id: await begin(evaluateKind, run, { added_by: caller }) };
    },

    async evaluationStatus({ body, signal }) {
      return { status: await runStatus(services, body.project_id, body.call_id, signal) };
    },

    async evaluationsRescore({ body, headers, signal }, caller) {
      const { project_id, source_evaluation_run_id: sourceId, scorer_refs } = body;
      const loc = ["source_evaluation_run_id"];
      const source = await located(loc, async () => await readRun(services, project_id, sourceId));
      if (source === undefined) throw new HeddleError("not_found", `there is no evaluation run ${sourceId}`, { loc });
      if (source.ended_at === null) throw new HeddleError("conflict", "the evaluation run has not ended", { loc });
      const predictions = await countFinishedItems(services, source, signal);
      await located(loc, async () => checkPredictions(services.config, predictions, "those of the run"));
      const scorers = await located(["scorer_refs"], () => loadScorers(services, project_id, scorer_refs));
      const input = (name: string) => stringMember(source.inputs, name);
      const run: RunIdentity = {
        project_id,
        run_id: idOf(project_id, headers["X-Weave-Retry-Id"], rescoreKind),
        evaluation_ref: input("self") ?? input("this") ?? "",
        model_ref: input("model") ?? "",
        user_id: caller.user_id,
        started_at: nowUs(),
        source_evaluation_run_id: sourceId,
      };
      const callId = await begin(rescoreKind, run, {
        added_by: caller,
        scorer_refs: scorers.map(({ ref }) => ref),
      });
      return { call_id: callId, evaluation_run_id: callId };
    },

    async callsScore({ body, headers }, caller) {
      const { project_id, call_ids, scorer_refs } = body;
      const loc = ["call_ids"];
      await located(loc, async () => checkPredictions(services.config, new Set(call_ids).size, "different calls"));
      const { scorers, rankings } = await located(["scorer_refs"], () =>
        loadCallScorers(services, project_id, scorer_refs),
      );
      for (const [kind, runnables] of [[scoreCallsKind, scorers] as const, [rankCallsKind, rankings] as const]) {
        if (runnables.length === 0) continue;
        const payload: ScoreCallsPayload = {
          call_ids,
          scorer_refs: runnables.map(({ ref }) => ref),
          user_id: caller.user_id,
        };
        await addOnce({
          id: idOf(project_id, headers["X-Weave-Retry-Id"], kind),
          project_id,
          kind,
          payload: JSON.stringify(payload),
          added_by: caller,
        });
      }
      return {};
    },
  };
}

/** A new id, or the same one on every attempt of a request. */
function idOf(projectId: string, retryId: string | undefined, kind: string): string {
  return retryId === undefined ? newId() : derivedId(projectId, retryId, 0, kind);
}
