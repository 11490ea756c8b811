import type { ClaimedJob } from "@heddle/control-plane";
import type { NewJob } from "@heddle/control-plane";
import type { JobAttempt, JobKind } from "../jobs/job-kind.js";
import type { RunIdentity } from "./run-calls.js";
import type { RunRecorder } from "./run-recorder.js";

/**
 * A kind of job that makes an evaluation run, whose id is that of the job. `work` stores the items, and returns `yielded` if
 * some are left for a further attempt; the start and the end of the run, a failure and a deletion are recorded here.
 */
export function runJob(
  name: string,
  recorder: RunRecorder,
  work: (job: ClaimedJob, attempt: JobAttempt) => Promise<"done" | "yielded">,
): JobKind {
  return {
    name,
    async run(job, attempt) {
      const run = runOf(job);
      attempt.checkHeld();
      await recorder.start(run);
      const state = await recorder.state(run);
      if (state !== "open") return state === "deleted" ? "cancelled" : "succeeded";
      if ((await work(job, attempt)) === "yielded") return "yielded";
      await recorder.end(run, attempt);
      return "succeeded";
    },
    fail: async (job, error) => await recorder.fail(runOf(job), error),
    async cancel(job) {
      // Whoever deleted the run does not wait for it.
      if (job.cancel_reason === null) await recorder.delete(runOf(job));
      else await recorder.fail(runOf(job), job.cancel_reason);
    },
  };
}

/** The job that makes a run. */
export function newRunJob(
  kind: string,
  run: RunIdentity,
  { added_by, ...more }: Pick<NewJob, "added_by"> & Record<string, unknown>,
): NewJob {
  const { project_id, run_id, started_at, ...rest } = run;
  const payload = JSON.stringify({ ...rest, started_at: String(started_at), ...more });
  return { id: run_id, project_id, kind, payload, added_by };
}

/** The run that a job makes. */
export function runOf({ id, project_id, payload }: ClaimedJob): RunIdentity {
  const { started_at, ...run } = JSON.parse(payload) as Omit<RunIdentity, "started_at"> & { started_at: string };
  return { ...run, project_id, run_id: id, started_at: BigInt(started_at) };
}
