import type { ClaimedJob } from "@heddle/control-plane";
import { forEachConcurrently } from "../evaluation-runs/for-each-concurrently.js";
import { planRun } from "../evaluation-runs/plan-run.js";
import type { RunPlan } from "../evaluation-runs/plan-run.js";
import { runJob, runOf } from "../evaluation-runs/run-job.js";
import type { RunIdentity, RunItem } from "../evaluation-runs/run-calls.js";
import type { RunRecorder } from "../evaluation-runs/run-recorder.js";
import { jobComputing } from "../evaluation-runs/job-computing.js";
import type { Services } from "../services.js";
import type { JobAttempt, JobKind } from "./job-kind.js";

export const evaluateKind = "evaluate";

/** Runs an evaluation: predicts each row as often as the evaluation has trials, and scores the predictions. */
export function evaluateJobs(services: Services, recorder: RunRecorder): JobKind {
  return runJob(evaluateKind, recorder, async (job, attempt) => await evaluate(services, recorder, job, attempt));
}

async function evaluate(
  services: Services,
  recorder: RunRecorder,
  job: ClaimedJob,
  attempt: JobAttempt,
): Promise<void> {
  const run = runOf(job);
  const computing = jobComputing(services.config, run.project_id);
  const plan = await planRun(services, run.project_id, run, computing);
  const isDone = await recorder.doneItems(run, attempt.signal);
  const total = plan.rows * plan.trials;
  let completed = 0;
  for (let index = 0; index < total; index++) if (isDone(index)) completed += 1;
  attempt.report({ completed, total });
  const { model } = plan.model;
  await forEachConcurrently(
    itemsOf(services, run, plan, isDone, attempt.signal),
    services.config.evaluationConcurrency,
    async (item) => {
      attempt.checkHeld();
      computing.checkBudget();
      const outcome = await recorder.predict(attempt, async (signal) => await model.predict(item.row, signal));
      const { value } = outcome;
      const scored = value && { row: item.row, inputs: item.row, output: value.output };
      const scores = scored === undefined ? [] : await recorder.score(attempt, plan.scorers, scored);
      const endedAt = scores.reduce((last, { ended_at }) => (ended_at > last ? ended_at : last), outcome.ended_at);
      await recorder.store(run, attempt, item, {
        predicted: { model: plan.model.object_id, outcome },
        made: { ...outcome, ended_at: endedAt, value: value && { output: value.output, latency: value.latency } },
        scores,
      });
      completed += 1;
      attempt.report({ completed, total });
    },
  );
}

/** What is left to do, row by row, all trials of a row together. */
async function* itemsOf(
  { store }: Pick<Services, "store">,
  run: RunIdentity,
  plan: RunPlan,
  isDone: (index: number) => boolean,
  signal: AbortSignal,
): AsyncGenerator<RunItem> {
  const request = { project_id: run.project_id, digest: plan.table_digest };
  for await (const { digest, val, original_index } of store.tables.query(request, { signal })) {
    const example = JSON.stringify(rowRef(plan.dataset_ref, digest));
    for (let trial = 0; trial < plan.trials; trial++) {
      const index = original_index * plan.trials + trial;
      if (!isDone(index)) yield { index, example, row: val };
    }
  }
}

/** The ref by which client libraries name a row of a dataset. */
function rowRef(datasetRef: string, rowDigest: string): string {
  return `${datasetRef}/attr/rows/id/${rowDigest}`;
}
