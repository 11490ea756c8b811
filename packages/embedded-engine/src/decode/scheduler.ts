import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import { createBeamGroup } from "./beam-group.js";
import type { ScheduledRequest } from "./scheduled-request.js";
import { canSharePrefill, prefillChunk, prefillTogether } from "./scheduled-request.js";
import { Admission, groupBytes } from "./admission.js";
import { chunkTokens } from "./prompt.js";
import type { RowGroup } from "./row-group.js";
import { advance, createSamplingGroup } from "./row-group.js";

export interface SchedulerSettings {
  /** Maximum number of rows decoded at the same time, over all weights. */
  maxRows: number;
  /** Memory limit of caches and results, in bytes. */
  memoryBytes: number;
}

export interface Scheduler {
  add(scheduled: ScheduledRequest): void;
  /** Number of requests of which no completion has started. */
  readonly queued: number;
  /** Returns the number of those of one key. */
  queuedOf(key: string): number;
  readonly rows: number;
  readonly steps: number;
  readonly prefills: number;
  readonly cacheBytes: number;
  /** Resolves when no request is left. */
  idle(): Promise<void>;
}

/**
 * Decodes all requests together. Each iteration starts the completions that fit, each with its first token from its
 * request's prompt, which is prefilled once (short prompts in one run); then decodes one step of every row group; then
 * yields to the event loop.
 *
 * `Admission` says which request starts next.
 */
export function createScheduler({ maxRows, memoryBytes }: SchedulerSettings): Scheduler {
  /** Requests with completions that have not started. */
  let queue: ScheduledRequest[] = [];
  let groups: RowGroup[] = [];
  /** Requests whose results are being collected. */
  let running: ScheduledRequest[] = [];
  let loop: Promise<void> | undefined;
  let [steps, prefills] = [0, 0];

  const admission = new Admission({ rows: maxRows, bytes: memoryBytes });
  const state = () => ({ queue, running, groups });
  const rows = () => groups.reduce((sum, group) => sum + group.rows, 0);

  /** Returns the request and others whose short prompts can be prefilled in the same run, as far as they may start. */
  const prefillBatch = (scheduled: ScheduledRequest): ScheduledRequest[] => {
    if (!canSharePrefill(scheduled)) return [scheduled];
    const length = (each: ScheduledRequest) => each.context.request.prompt.length;
    const batch = [scheduled];
    let tokens = length(scheduled);
    for (const each of queue) {
      if (each === scheduled || each.weights !== scheduled.weights || !canSharePrefill(each)) continue;
      if (tokens + length(each) > chunkTokens || !admission.canStartWith(state(), each, batch)) continue;
      batch.push(each);
      tokens += length(each);
    }
    return batch;
  };

  const startNext = async (scheduled: ScheduledRequest): Promise<void> => {
    const { prompt, weights } = scheduled;
    if (!prompt) return;
    if (scheduled.beams) {
      groups.push(createBeamGroup(scheduled, scheduled.beams, prompt));
      scheduled.prompt = undefined;
      return;
    }
    const completion = scheduled.startCompletion();
    if (!completion) return;
    if (scheduled.unstarted === 0) scheduled.prompt = undefined;
    const token = await advance(scheduled, completion, prompt[completion.source], 0);
    if (token === undefined) return;
    let group = admission.groupFor(state(), scheduled);
    if (!group) groups.push((group = createSamplingGroup(weights, scheduled.capacity)));
    const following = queue.filter(
      (each) =>
        each.weights === weights &&
        each.capacity === scheduled.capacity &&
        each.sharer?.key === scheduled.sharer?.key &&
        !each.beams,
    );
    const unstarted = following.reduce((sum, each) => sum + each.unstarted, 0);
    const expected = admission.rowsToFollow(state(), scheduled, group, unstarted);
    group.join({ scheduled, completion }, prompt, token, expected);
  };
  const admit = async (): Promise<void> => {
    // Prompt tokens that may be prefilled while rows wait for their next step.
    let budget = chunkTokens;
    let started = 0;
    for (;;) {
      removeSettled();
      if (queue.length === 0) return;
      const scheduled = admission.next(state());
      if (!scheduled) {
        dropPrompts();
        return;
      }
      if (!running.includes(scheduled)) running.push(scheduled);
      if (scheduled.prompt) {
        await startNext(scheduled);
        // Completions of one token finish here without a decoding step that would yield.
        if (++started % 64 === 0) await yieldToEventLoop();
        continue;
      }
      if (budget <= 0 && rows() > 0) return;
      const batch = prefillBatch(scheduled);
      prefills += batch.filter((each) => !each.reader).length;
      await (batch.length > 1 ? prefillTogether(batch) : prefillChunk(scheduled)).catch((error: unknown) => {
        for (const each of batch) each.fail(error);
      });
      budget -= batch.reduce((sum, each) => sum + Math.min(chunkTokens, each.context.request.prompt.length), 0);
      await yieldToEventLoop();
    }
  };
  /**
   * Releases the prompts of requests that wait for each other's memory, so that the first of them can start: all if no row
   * is left that would free some, else those of keys without rows that have several.
   */
  const dropPrompts = () => {
    const isIdle = rows() === 0;
    const busy = new Set(groups.flatMap((group) => [...group.requests()].map(({ sharer }) => sharer?.key)));
    const prefilled = queue.filter(({ prompt, reader }) => prompt ?? reader);
    const dropped = new Set(
      prefilled.filter((scheduled) => {
        const key = scheduled.sharer?.key;
        return isIdle || (!busy.has(key) && prefilled.some((each) => each !== scheduled && each.sharer?.key === key));
      }),
    );
    for (const scheduled of dropped) {
      scheduled.prompt = undefined;
      scheduled.reader = undefined;
    }
    running = running.filter(
      (scheduled) => !dropped.has(scheduled) || (!scheduled.beams && scheduled.unstarted < scheduled.context.request.n),
    );
  };
  const removeSettled = () => {
    queue = queue.filter(
      (scheduled) => !scheduled.settled && (scheduled.beams ? scheduled.rows === 0 : scheduled.unstarted > 0),
    );
    running = running.filter((scheduled) => !scheduled.settled);
  };
  const run = async (): Promise<void> => {
    // Requests of one event loop iteration start together.
    await yieldToEventLoop();
    while (queue.length > 0 || groups.length > 0) {
      await admit();
      for (const group of groups) {
        await group.step();
        steps++;
      }
      groups = groups.filter((group) => group.rows > 0);
      await yieldToEventLoop();
    }
  };

  /** Fails all requests after an error that no request caused, such as a failed allocation. */
  const failAll = (error: unknown) => {
    const reason =
      error instanceof HeddleError ? error : new HeddleError("failed", `the sampling loop failed: ${String(error)}`);
    for (const scheduled of [...queue, ...running]) scheduled.fail(reason);
    queue = [];
    groups = [];
    running = [];
  };

  const start = () => {
    loop ??= run()
      .catch(failAll)
      .finally(() => {
        loop = undefined;
        // Requests that were added while the requests of a failed loop were rejected.
        if (queue.length > 0) start();
      });
  };
  const idle = async (): Promise<void> => {
    if (!loop) return;
    await loop;
    await idle();
  };

  return {
    add(scheduled) {
      queue.push(scheduled);
      start();
    },
    get queued() {
      return queue.filter((scheduled) => scheduled.rows === 0).length;
    },
    queuedOf: (key) => queue.filter(({ rows, sharer }) => rows === 0 && sharer?.key === key).length,
    get rows() {
      return rows();
    },
    get steps() {
      return steps;
    },
    get prefills() {
      return prefills;
    },
    get cacheBytes() {
      return groups.reduce((sum, group) => sum + groupBytes(group, group.allocatedRows), 0);
    },
    idle,
  };
}
