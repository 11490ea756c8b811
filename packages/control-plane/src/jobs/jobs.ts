import type { Database } from "../database/database.js";
import { countActive } from "./counts.js";
import type { ActiveJobs } from "./counts.js";
import { storedText } from "../database/stored-text.js";
import { cancelJobs } from "./cancel.js";
import { claimCancelledJob, claimJob, nextDue, waitingJobs } from "./claims.js";
import type { JobClaimRequest, WaitingJob } from "./claims.js";
import { finishJob, giveBackJob, renewJob } from "./held.js";
import type { GiveBack, JobHold, JobRenewal } from "./held.js";
import { insertJob } from "./insert.js";
import type { NewJob, WaitingLimit } from "./insert.js";
import { jobColumns, jobOf } from "./records.js";
import type { ClaimedJob, Job, JobOutcome } from "./records.js";

/**
 * The durable queue of work that is done in the background. A job is claimed by one runner at a time and reaches one
 * terminal state, once: what a runner does with a claim that it has lost has no effect.
 */
export interface Jobs {
  /**
   * Adds a job to the end of the queue. Throws `conflict` for an id that was used before, `forbidden` for a key that was
   * revoked, and `rate_limited` if too many jobs of the key wait.
   */
  add(job: NewJob): Promise<void>;
  /** Undefined for a job that is not in the project. */
  get(projectId: string, id: string): Promise<Job | undefined>;
  /**
   * Cancels jobs of a project. One that no runner has begun with is `cancelled` at once; another one is marked, and a
   * runner ends it. Unknown and ended jobs are left as they are. Returns the ids of the jobs that were marked.
   */
  cancel(projectId: string, ids: readonly string[]): Promise<string[]>;
  /**
   * Claims the next job of the kinds given; undefined when none can run now. Entities take turns, in an entity its keys,
   * and of a key its projects: whoever has the fewest jobs running comes first, then whose last claim is longest ago.
   * Within a project the oldest job comes first. A job whose lease has ended is claimed like one that waits.
   */
  claim(request: JobClaimRequest): Promise<ClaimedJob | undefined>;
  /** Claims a job that was cancelled, or whose key was revoked, after a runner had begun with it: to end it. */
  claimCancelled(request: Pick<JobClaimRequest, "kinds" | "lease_us">): Promise<ClaimedJob | undefined>;
  /** The next job of each key that has one which could run, in the order of their turns. */
  waiting(request: Omit<JobClaimRequest, "lease_us">): Promise<WaitingJob[]>;
  /** Extends the lease and stores the progress. An attempt that has made progress counts as the first one. */
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

/** `waitingPerKey`: jobs of one key that may wait. */
export function openJobs(database: Database, now: () => bigint, waitingPerKey?: WaitingLimit): Jobs {
  return {
    async add(job) {
      await database.transaction(async (statements) => await insertJob(statements, job, { now: now(), waitingPerKey }));
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
    claimCancelled: async (request) => await claimCancelledJob(database, request, now()),
    waiting: async (request) => await waitingJobs(database, request),
    renew: async (hold, renewal) => await renewJob(database, hold, renewal, now()),
    giveBack: async (hold, request) => await giveBackJob(database, hold, request, now()),
    finish: async (hold, outcome, error) => await finishJob(database, hold, { outcome, error }, now()),
    nextDue: async (kinds) => await nextDue(database, kinds),
    active: async () => await countActive(database),
  };
}
