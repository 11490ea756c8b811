import type { ClaimedJob } from "@heddle/control-plane";
import { writeJson } from "@heddle/server-stub";
import { derivedId } from "@heddle/trace-model";
import type { StoredCall, TraceStore } from "@heddle/trace-store";
import { forEachConcurrently } from "@heddle/concurrency";
import { jobComputing } from "./job-computing.js";
import { loadScorers } from "./plan-run.js";
import type { RunRecorder } from "./run-recorder.js";
import type { RunServices } from "./run-services.js";
import { feedbackOf, storedFeedback } from "./score-feedback.js";
import { wireCall } from "../wire/call.js";
import type { JobAttempt, JobKind } from "../jobs/job-kind.js";

export const scoreCallsKind = "score-calls";

export interface ScoreCallsPayload {
  call_ids: readonly string[];
  scorer_refs: readonly string[];
  user_id: string;
}

/** Calls that are read at a time. */
export const pageSize = 20;

/** Applies scorers to calls; the results are feedback on the calls. */
export function scoreCallsJobs(services: RunServices, recorder: RunRecorder): JobKind {
  return {
    name: scoreCallsKind,
    run: async (job, attempt) => await scoreCalls(services, recorder, job, attempt),
    // Nobody waits for the job: what was scored is feedback.
    fail: async () => {},
    cancel: async () => {},
  };
}

async function scoreCalls(
  services: RunServices,
  recorder: RunRecorder,
  job: ClaimedJob,
  attempt: JobAttempt,
): Promise<"succeeded" | "yielded"> {
  const payload = JSON.parse(job.payload) as ScoreCallsPayload;
  const callIds = [...new Set(payload.call_ids)];
  const computing = jobComputing(services.config, { id: job.id, sharer: attempt.sharer });
  const scorers = await loadScorers(services, job.project_id, payload.scorer_refs, computing);
  const total = callIds.length;
  // All calls before this one are done: a further attempt begins there.
  let { completed } = job.progress;
  const done = new Set<number>();
  const note = (index: number) => {
    done.add(index);
    while (done.delete(completed)) completed += 1;
    attempt.report({ completed, total });
  };
  const source = callsOf(services, job.project_id, callIds, { from: completed, attempt, onMissing: note });
  attempt.beginWork();
  await forEachConcurrently(source, services.config.evaluationConcurrency, async ({ call, index }) => {
    const idOf = (scorerRef: string) => derivedId(job.project_id, job.id, 0, JSON.stringify([call.id, scorerRef]));
    const done = await storedFeedback(
      services,
      job.project_id,
      scorers.map(({ ref }) => idOf(ref)),
    );
    const left = scorers.filter(({ ref }) => !done.has(idOf(ref)));
    const scored = { inputs: call.inputs, output: call.output, call: writeJson(wireCall(call)) };
    const scores = await recorder.score(attempt, left, scored);
    attempt.checkHeld();
    await services.store.feedback.createBatch(
      scores.map((score) => feedbackOf(job.project_id, call, score, { id: idOf(score.scorer.ref), ...payload })),
    );
    note(index);
  });
  return attempt.shouldYield && completed < total ? "yielded" : "succeeded";
}

/** Those of the calls that exist and have ended, with their positions. */
async function* callsOf(
  { store }: { store: TraceStore },
  projectId: string,
  ids: readonly string[],
  { from, attempt, onMissing }: { from: number; attempt: JobAttempt; onMissing: (index: number) => void },
): AsyncGenerator<{ call: StoredCall; index: number }> {
  for (let start = from; start < ids.length; start += pageSize) {
    const page = ids.slice(start, start + pageSize);
    // All of a page are read before the first is scored, so that no statement stays open meanwhile.
    const calls = await callsById({ store }, projectId, page, attempt.signal);
    for (const [at, id] of page.entries()) {
      const call = calls.get(id);
      if (call === undefined || call.ended_at === null) onMissing(start + at);
      else yield { call, index: start + at };
      if (attempt.shouldYield) return;
    }
  }
}

/** Those of the calls that exist. */
export async function callsById(
  { store }: { store: TraceStore },
  projectId: string,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, StoredCall>> {
  const calls = new Map<string, StoredCall>();
  const request = { project_id: projectId, filter: { call_ids: [...ids] } };
  for await (const call of store.calls.query(request, { signal })) calls.set(call.id, call);
  return calls;
}
