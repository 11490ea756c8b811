import type { Database } from "../database/database.js";
import { countActive } from "./counts.js";
import type { ActiveJobs } from "./counts.js";
import { storedText } from "../database/stored-text.js";
import { cancelJobs } from "./cancel.js";
import { claimCancelledJob, claimJob, msToNextDue, waitingJobs } from "./claims.js";
import type { JobClaimRequest, WaitingJob } from "./claims.js";
import { finishJob, giveBackJob, renewJob } from "./held.js";
import type { GiveBack, JobHold } from "./held.js";
import { LeaseWatch } from "./lease-watch.js";
import { insertJob } from "./insert.js";
import type { NewJob, WaitingLimit } from "./insert.js";
import { jobColumns, jobOf } from "./records.js";
import type { ClaimedJob, Job, JobOutcome, JobProgress } from "./records.js";

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
   * Within a project the oldest job comes first. A job whose runner has not renewed its claim for a lease, as this process
   * has seen it, is claimed like one that waits: clocks that are set change nothing of that.
   */
  claim(request: JobClaimRequest): Promise<ClaimedJob | undefined>;
  /** Claims a job that was cancelled, or whose key was revoked, after a runner had begun with it: to end it. */
  claimCancelled(request: Pick<JobClaimRequest, "kinds" | "lease_us">): Promise<ClaimedJob | undefined>;
  /** The next job of each key that has one which could run, in the order of their turns. */
  waiting(request: Omit<JobClaimRequest, "lease_us">): Promise<WaitingJob[]>;
  /** Keeps the claim for another lease and stores the progress. An attempt that has made progress counts as the first one. */
  renew(hold: JobHold, progress: JobProgress): Promise<"held" | "cancelled" | "lost">;
  /** Gives a job back, for another claim. Returns false for a claim that was lost. */
  giveBack(hold: JobHold, request: GiveBack): Promise<boolean>;
  /** Ends a job. Returns false for a claim that was lost. */
  finish(hold: JobHold, outcome: JobOutcome, error?: string): Promise<boolean>;
  /** Milliseconds until a job of the kinds given becomes due next; undefined when none will. */
  msToNextDue(request: Pick<JobClaimRequest, "kinds" | "lease_us">): Promise<number | undefined>;
  /** How many jobs wait or run, by kind; kinds without any are absent. */
  active(): Promise<ActiveJobs[]>;
}

export interface JobsOptions {
  /** Microseconds since 1970. */
  now: () => bigint;
  /** Milliseconds of a clock that nobody sets. */
  monotonic?: (() => number) | undefined;
  /** Jobs of one key that may wait. */
  waitingPerKey?: WaitingLimit;
}

export function openJobs(database: Database, { now, monotonic, waitingPerKey }: JobsOptions): Jobs {
  const watch = new LeaseWatch(monotonic ?? (() => performance.now()));
  const clocks = () => ({ now: now(), watch });
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
    claim: async (request) => await claimJob(database, request, clocks()),
    claimCancelled: async (request) => await claimCancelledJob(database, request, clocks()),
    waiting: async (request) => await waitingJobs(database, request),
    renew: async (hold, progress) => await renewJob(database, hold, progress, watch),
    giveBack: async (hold, request) => await giveBackJob(database, hold, request, now()),
    finish: async (hold, outcome, error) => await finishJob(database, hold, { outcome, error }, now()),
    msToNextDue: async (request) => await msToNextDue(database, request, clocks()),
    active: async () => await countActive(database),
  };
}
