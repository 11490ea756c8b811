import type { ClaimedJob } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { jsonType, memberOf, stringMember, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import type { StoredCall, TraceStore } from "@heddle/trace-store";
import { forEachConcurrently } from "@heddle/concurrency";
import { jobComputing } from "./job-computing.js";
import { checkPredictions, loadScorers } from "./plan-run.js";
import type { RunItem } from "./run-calls.js";
import { runJob, runOf } from "./run-job.js";
import type { RunRecorder } from "./run-recorder.js";
import { finishedItems } from "./stored-run.js";
import type { RunServices } from "./run-services.js";
import type { JobAttempt, JobKind } from "../jobs/job-kind.js";

export const rescoreKind = "rescore";

/** Makes a run from the predictions of an earlier one, with other scorers. */
export function rescoreJobs(services: RunServices, recorder: RunRecorder): JobKind {
  return runJob(rescoreKind, recorder, async (job, attempt) => await rescore(services, recorder, job, attempt));
}

/** Predictions whose payloads are read at a time. */
const pageSize = 50;

interface Source extends RunItem {
  call: StoredCall;
}

async function rescore(
  services: RunServices,
  recorder: RunRecorder,
  job: ClaimedJob,
  attempt: JobAttempt,
): Promise<"done" | "yielded"> {
  const run = runOf(job);
  const { scorer_refs: refs } = JSON.parse(job.payload) as { scorer_refs: string[] };
  const computing = jobComputing(services.config, { id: job.id, sharer: attempt.sharer });
  const scorers = await loadScorers(services, run.project_id, refs, computing);
  const isDone = await recorder.doneItems(run, attempt.signal);
  const ids: string[] = [];
  const source = { project_id: run.project_id, id: run.source_evaluation_run_id ?? "" };
  for await (const { id } of finishedItems(services, source, ["id"], attempt.signal)) {
    ids.push(id);
    checkPredictions(services.config, ids.length);
  }
  const left = [...ids.keys()].filter((index) => !isDone(index));
  let completed = ids.length - left.length;
  const total = ids.length;
  attempt.report({ completed, total });
  const items = sourcesOf(services, run.project_id, ids, { left, attempt });
  attempt.beginWork();
  await forEachConcurrently(items, services.config.evaluationConcurrency, async ({ call, ...item }) => {
    attempt.checkHeld();
    computing.checkBudget();
    const { output, latency, predictionId } = predictionOf(call);
    const error = call.exception !== null && jsonType(output) === "null" ? call.exception : undefined;
    const startedAt = BigInt(Date.now()) * 1000n;
    const scores =
      error === undefined ? await recorder.score(attempt, scorers, { row: item.row, inputs: item.row, output }) : [];
    await recorder.store(run, attempt, item, {
      outcome: { started_at: startedAt, ended_at: BigInt(Date.now()) * 1000n, value: { output, latency }, error },
      scores,
      predictionId,
    });
    completed += 1;
    attempt.report({ completed, total });
  });
  return attempt.shouldYield && completed < total ? "yielded" : "done";
}

/** The predictions at the positions given, with their rows. */
async function* sourcesOf(
  { store }: { store: TraceStore },
  projectId: string,
  ids: readonly string[],
  { left, attempt }: { left: readonly number[]; attempt: JobAttempt },
): AsyncGenerator<Source> {
  for (let from = 0; from < left.length; from += pageSize) {
    const page = left.slice(from, from + pageSize);
    const calls = new Map<string, StoredCall>();
    const callIds = page.map((index) => ids[index] ?? "");
    const request = { project_id: projectId, filter: { call_ids: callIds } };
    for await (const call of store.calls.query(request, { signal: attempt.signal })) calls.set(call.id, call);
    for (const index of page) {
      const call = calls.get(ids[index] ?? "");
      if (call === undefined) continue;
      const example = memberOf(call.inputs, "example") ?? "null";
      yield { index, call, example, row: await rowOf(store, projectId, example) };
      if (attempt.shouldYield) return;
    }
  }
}

/** The row that an example is: itself, or what it refers to. */
async function rowOf(store: TraceStore, projectId: string, example: JsonText): Promise<JsonText> {
  const ref = stringValue(example);
  if (ref?.startsWith("weave:///") !== true) return example;
  const own = (project: string) => project === projectId;
  const [row] = await store.refs.readBatch([ref], { mayRead: own }).catch((error: unknown) => {
    if (error instanceof HeddleError && (error.code === "not_found" || error.code === "invalid")) return [null];
    throw error;
  });
  return row ?? example;
}

function predictionOf({ output, attributes }: StoredCall) {
  const latency = Number(memberOf(memberOf(output, "model_latency") ?? "{}", "mean") ?? "NaN");
  return {
    output: memberOf(output, "output") ?? "null",
    latency: Number.isFinite(latency) ? latency : null,
    predictionId: stringMember(memberOf(attributes, "weave") ?? "{}", "predict_call_id"),
  };
}
