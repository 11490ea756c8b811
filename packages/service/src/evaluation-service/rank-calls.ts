import { createHash } from "node:crypto";
import type { ClaimedJob } from "@heddle/control-plane";
import { forEachConcurrently } from "@heddle/concurrency";
import { derivedId } from "@heddle/trace-model";
import { groupReader } from "../scorers/group-path.js";
import { jobComputing } from "./job-computing.js";
import { loadCallScorers } from "./plan-run.js";
import type { RunnableRanking } from "./plan-run.js";
import type { RunRecorder } from "./run-recorder.js";
import type { RunServices } from "./run-services.js";
import { callsById, pageSize } from "./score-calls.js";
import type { ScoreCallsPayload } from "./score-calls.js";
import { feedbackOf, storedFeedback } from "./score-feedback.js";
import type { JobAttempt, JobKind } from "../jobs/job-kind.js";

export const rankCallsKind = "rank-calls";

/** What one request to a model compares. */
const maxGroup = 32;
/** Characters of the calls of a group, with all that a model is not shown. */
const maxLength = 16 * 1024 * 1024;

/** Ranks the groups that calls form; the scores are feedback on the calls. */
export function rankCallsJobs(services: RunServices, recorder: RunRecorder): JobKind {
  return {
    name: rankCallsKind,
    run: async (job, attempt) => await rankCalls(services, recorder, job, attempt),
    // Nobody waits for the job: what was ranked is feedback.
    fail: async () => {},
    cancel: async () => {},
  };
}

interface CallGroup {
  ranking: RunnableRanking;
  callIds: string[];
  length: number;
  /** Why its calls cannot be compared. */
  error?: string;
}

async function rankCalls(
  services: RunServices,
  recorder: RunRecorder,
  job: ClaimedJob,
  attempt: JobAttempt,
): Promise<"succeeded" | "yielded"> {
  const payload = JSON.parse(job.payload) as ScoreCallsPayload;
  const computing = jobComputing(services.config, { id: job.id, sharer: attempt.sharer });
  const { rankings } = await loadCallScorers(services, job.project_id, payload.scorer_refs, computing);
  const groups = await groupsOf(services, job.project_id, { ...payload, rankings, signal: attempt.signal });
  let completed = 0;
  attempt.beginWork();
  await forEachConcurrently(groups, services.config.evaluationConcurrency, async ({ ranking, callIds, error }) => {
    if (attempt.shouldYield) return;
    const idOf = (callId: string) => derivedId(job.project_id, job.id, 0, JSON.stringify([callId, ranking.ref]));
    const done = await storedFeedback(services, job.project_id, callIds.map(idOf));
    // A group is stored at once: a part of it means that its feedback was given before, and some was deleted since.
    if (done.size === 0) {
      computing.checkBudget();
      const outcome = error === undefined ? await compare(ranking, callIds) : { error };
      attempt.checkHeld();
      await services.store.feedback.createBatch(
        callIds.map((id, at) => {
          const score = { scorer: ranking, value: outcome.value?.[at], error: outcome.error };
          return feedbackOf(job.project_id, { id }, score, { id: idOf(id), user_id: payload.user_id });
        }),
      );
    }
    completed += 1;
    attempt.report({ completed, total: groups.length });
  });
  return completed < groups.length ? "yielded" : "succeeded";

  async function compare(ranking: RunnableRanking, callIds: string[]): Promise<{ value?: string[]; error?: string }> {
    const calls = await callsById(services, job.project_id, callIds, attempt.signal);
    const group = callIds.flatMap((id) => calls.get(id) ?? []);
    if (group.length < callIds.length) return { error: "a call of the group was deleted meanwhile" };
    return await recorder.rank(attempt, ranking, group, JSON.stringify([job.id, callIds]));
  }
}

/** The groups of the calls that exist and have ended, for each ranking. Calls that cannot be compared have the reason. */
async function groupsOf(
  services: RunServices,
  projectId: string,
  request: { call_ids: readonly string[]; rankings: readonly RunnableRanking[]; signal: AbortSignal },
): Promise<CallGroup[]> {
  const ids = [...new Set(request.call_ids)];
  const found = request.rankings.map((ranking) => ({
    ranking,
    keyOf: groupReader(ranking.scorer.groupBy),
    groups: new Map<string, CallGroup>(),
  }));
  for (let start = 0; start < ids.length; start += pageSize) {
    const page = ids.slice(start, start + pageSize);
    const calls = await callsById(services, projectId, page, request.signal);
    for (const call of page.flatMap((id) => calls.get(id) ?? [])) {
      if (call.ended_at === null) continue;
      for (const { ranking, keyOf, groups } of found) {
        const key = call.exception === null ? keyOf(call) : undefined;
        const name = createHash("sha256")
          .update(JSON.stringify(key === undefined ? [call.id] : key))
          .digest("hex");
        const group: CallGroup = groups.get(name) ?? { ranking, callIds: [], length: 0 };
        group.callIds.push(call.id);
        group.length += call.inputs.length + call.output.length;
        if (call.exception !== null) group.error = "the call failed: there is no output to compare";
        else if (key === undefined) group.error = `the call has no value at ${ranking.scorer.groupBy}`;
        groups.set(name, group);
      }
    }
  }
  const all = found.flatMap(({ groups }) => [...groups.values()]);
  return all.map((group) => ({ ...group, error: group.error ?? sizeError(group) }));
}

function sizeError({ callIds: { length: size }, length }: CallGroup): string | undefined {
  if (length > maxLength) return `the calls of the group have more than ${maxLength >> 20} MiB`;
  if (size === 1) return "the call is alone in its group: there is nothing to compare it with";
  return size > maxGroup ? `the group has ${size} calls; at most ${maxGroup} can be compared` : undefined;
}
