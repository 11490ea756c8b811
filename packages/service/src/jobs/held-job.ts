import { momentAt, msSince } from "@heddle/control-plane";
import type { ClaimedJob, JobProgress, Jobs, Moment } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { Sharer } from "@heddle/concurrency";
import type { JobAttempt } from "./job-kind.js";

/** Why an attempt ends before its work is done. */
export type Interruption = "cancelled" | "lost" | "stopping";

/** The lease of one claimed job, renewed in the background until it is released. */
export class HeldJob implements JobAttempt {
  readonly job: ClaimedJob;
  readonly #queue: Jobs;
  readonly #leaseMs: number;
  readonly #abort = new AbortController();
  #interruption: Interruption | undefined;
  #progress: JobProgress;
  /** When the last renewal that succeeded was sent. */
  #confirmed: Moment;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();
  #released = false;
  readonly #claimedAt: number;
  /** Undefined during preparations, which no slice ends. */
  #workBegan: number | undefined;
  #shouldYield = false;

  /** `claimedAt` is the monotonic time at which the claim was sent. */
  constructor(queue: Jobs, job: ClaimedJob, { leaseMs, claimedAt }: { leaseMs: number; claimedAt: number }) {
    this.job = job;
    this.#queue = queue;
    this.#leaseMs = leaseMs;
    this.#progress = job.progress;
    this.#confirmed = momentAt(claimedAt);
    this.#claimedAt = claimedAt;
    this.#schedule();
  }

  get sharer(): Sharer {
    return { key: this.job.key_id, entity: this.job.entity };
  }

  get shouldYield(): boolean {
    return this.#shouldYield;
  }

  beginWork(): void {
    this.#workBegan ??= performance.now();
  }

  /** How long the job has had its slot, in milliseconds. */
  sliceAge(): number {
    return performance.now() - this.#claimedAt;
  }

  /** How much of that it has worked. */
  workAge(): number {
    return this.#workBegan === undefined ? 0 : performance.now() - this.#workBegan;
  }

  /** Ends the time slice. */
  yieldSlot(): void {
    this.#shouldYield = true;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Undefined while the attempt goes on. */
  interruption(): Interruption | undefined {
    return this.#interruption;
  }

  report(progress: JobProgress): void {
    this.#progress = progress;
  }

  checkHeld(): void {
    if (this.#interruption === undefined && !this.#isFresh()) this.interrupt("lost");
    if (this.#interruption !== undefined) throw new HeddleError("aborted", `the job was ${words[this.#interruption]}`);
  }

  /** Ends the attempt. The first reason stays. */
  interrupt(reason: Interruption): void {
    if (this.#interruption !== undefined) return;
    this.#interruption = reason;
    this.#abort.abort(new HeddleError("aborted", `the job was ${words[reason]}`));
  }

  /** Stores the last progress and stops renewing. */
  async release(): Promise<void> {
    this.#released = true;
    clearTimeout(this.#timer);
    await this.#renewing;
    if (this.#interruption !== "lost") await this.#renew();
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#renewing = this.#renew().finally(() => {
        if (!this.#released && this.#interruption !== "lost") this.#schedule();
      });
    }, this.#leaseMs / 6);
    this.#timer.unref();
  }

  async #renew(): Promise<void> {
    const sent = momentAt();
    try {
      const state = await this.#queue.renew(this.job, this.#progress);
      if (state === "held") this.#confirmed = sent;
      else this.interrupt(state);
    } catch {
      // The control plane does not respond: tried again soon, and until then the lease ages.
      if (!this.#isFresh()) this.interrupt("lost");
    }
  }

  /** Whether no other process can claim the job within the next half of the lease. */
  #isFresh(): boolean {
    return msSince(this.#confirmed) < this.#leaseMs / 2;
  }
}

const words: Record<Interruption, string> = {
  cancelled: "cancelled",
  lost: "claimed by another process",
  stopping: "interrupted because the service stops",
};
