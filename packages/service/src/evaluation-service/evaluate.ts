import type { ClaimedJob } from "@heddle/control-plane";
import { forEachConcurrently } from "@heddle/concurrency";
import { planRun } from "./plan-run.js";
import type { RunPlan } from "./plan-run.js";
import { runJob, runOf } from "./run-job.js";
import type { RunIdentity, RunItem } from "./run-calls.js";
import type { RunRecorder } from "./run-recorder.js";
import { jobComputing } from "./job-computing.js";
import type { TraceStore } from "@heddle/trace-store";
import type { RunServices } from "./run-services.js";
import type { JobAttempt, JobKind } from "../jobs/job-kind.js";

export const evaluateKind = "evaluate";

/** Runs an evaluation: predicts each row as often as the evaluation has trials, and scores the predictions. */
export function evaluateJobs(services: RunServices, recorder: RunRecorder): JobKind {
  return runJob(evaluateKind, recorder, async (job, attempt) => await evaluate(services, recorder, job, attempt));
}

async function evaluate(
  services: RunServices,
  recorder: RunRecorder,
  job: ClaimedJob,
  attempt: JobAttempt,
): Promise<"done" | "yielded"> {
  const run = runOf(job);
  const computing = jobComputing(services.config, { id: job.id, sharer: attempt.sharer });
  const plan = await planRun(services, run.project_id, run, computing);
  const isDone = await recorder.doneItems(run, attempt.signal);
  const total = plan.rows * plan.trials;
  let completed = 0;
  let first = total;
  for (let index = total - 1; index >= 0; index--) {
    if (isDone(index)) completed += 1;
    else first = index;
  }
  attempt.report({ completed, total });
  const { model } = plan.model;
  attempt.beginWork();
  await forEachConcurrently(
    itemsOf(services, run, plan, { isDone, first, attempt }),
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
        outcome: { ...outcome, ended_at: endedAt, value: value && { output: value.output, latency: value.latency } },
        scores,
      });
      completed += 1;
      attempt.report({ completed, total });
    },
  );
  return attempt.shouldYield && completed < total ? "yielded" : "done";
}

/** What is left to do from the first item, row by row, all trials of a row together. */
async function* itemsOf(
  { store }: { store: TraceStore },
  run: RunIdentity,
  plan: RunPlan,
  { isDone, first, attempt }: { isDone: (index: number) => boolean; first: number; attempt: JobAttempt },
): AsyncGenerator<RunItem> {
  const offset = Math.floor(first / plan.trials);
  if (offset >= plan.rows) return;
  const request = { project_id: run.project_id, digest: plan.table_digest, offset };
  const rows = store.tables.query(request, { signal: attempt.signal });
  for await (const { digest, val, original_index } of rows) {
    const example = JSON.stringify(rowRef(plan.dataset_ref, digest));
    for (let trial = 0; trial < plan.trials; trial++) {
      const index = original_index * plan.trials + trial;
      if (isDone(index)) continue;
      yield { index, example, row: val };
      // Each attempt gets something done, however short its slice is.
      if (attempt.shouldYield) return;
    }
  }
}

/** The ref by which client libraries name a row of a dataset. */
function rowRef(datasetRef: string, rowDigest: string): string {
  return `${datasetRef}/attr/rows/id/${rowDigest}`;
}
