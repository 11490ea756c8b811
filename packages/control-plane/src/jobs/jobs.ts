import type { Database } from "../database.js";
import { countActive } from "./counts.js";
import type { ActiveJobs } from "./counts.js";
import { storedText } from "../stored-text.js";
import { cancelJobs } from "./cancel.js";
import { claimJob, nextDue } from "./claims.js";
import type { JobClaimRequest } from "./claims.js";
import { finishJob, giveBackJob, renewJob } from "./held.js";
import type { GiveBack, JobHold, JobRenewal } from "./held.js";
import { insertJob } from "./insert.js";
import type { NewJob } from "./insert.js";
import { jobColumns, jobOf } from "./records.js";
import type { ClaimedJob, Job, JobOutcome } from "./records.js";

/**
 * The durable queue of work that is done in the background. A job is claimed by one runner at a time and reaches one
 * terminal state, once: what a runner does with a claim that it has lost has no effect.
 */
export interface Jobs {
  /** Adds a job to the end of the queue. Throws `conflict` for an id that was used before. */
  add(job: NewJob): Promise<void>;
  /** Undefined for a job that is not in the project. */
  get(projectId: string, id: string): Promise<Job | undefined>;
  /**
   * Cancels jobs of a project. One that waits is `cancelled` at once; one that a runner has is marked, and the runner
   * ends it. Unknown and ended jobs are left as they are. Returns the ids of the jobs that a runner has.
   */
  cancel(projectId: string, ids: readonly string[]): Promise<string[]>;
  /**
   * Claims the next job of the kinds given; undefined when none can run now. Projects with fewer running jobs come
   * first, then the one that has waited longest since its last claim; within a project the oldest job comes first. A job
   * whose lease has ended is claimed like one that waits.
   */
  claim(request: JobClaimRequest): Promise<ClaimedJob | undefined>;
  /** Extends the lease and stores the progress. */
  renew(hold: JobHold, renewal: JobRenewal): Promise<"held" | "cancelled" | "lost">;
  /** Gives a job back, for another claim. Returns false for a claim that was lost. */
  giveBack(hold: JobHold, request: GiveBack): Promise<boolean>;
  /** Ends a job. Returns false for a claim that was lost. */
  finish(hold: JobHold, outcome: JobOutcome, error?: string): Promise<boolean>;
  /** Microseconds since 1970 at which a job of the kinds given becomes due next; undefined when none will. */
  nextDue(kinds: readonly string[]): Promise<bigint | undefined>;
  /** How many jobs wait or run, by kind; kinds without any are absent. */
  active(): Promise<ActiveJobs[]>;
}

export function openJobs(database: Database, now: () => bigint): Jobs {
  return {
    async add(job) {
      await database.transaction(async (statements) => await insertJob(statements, job, now()));
    },
    async get(projectId, id) {
      const [row] = await database.rows(`SELECT ${jobColumns} FROM jobs WHERE project_id = $1 AND id = $2`, [
        projectId,
        storedText(id),
      ]);
      return row && jobOf(row);
    },
    cancel: async (projectId, ids) => await cancelJobs(database, projectId, ids, now()),
    claim: async (request) => await claimJob(database, request, now()),
    renew: async (hold, renewal) => await renewJob(database, hold, renewal, now()),
    giveBack: async (hold, request) => await giveBackJob(database, hold, request, now()),
    finish: async (hold, outcome, error) => await finishJob(database, hold, { outcome, error }, now()),
    nextDue: async (kinds) => await nextDue(database, kinds, now()),
    active: async () => await countActive(database),
  };
}
