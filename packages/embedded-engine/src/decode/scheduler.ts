import { HeddleError } from "@heddle/errors";
import { createBeamGroup } from "./beam-group.js";
import type { ScheduledRequest } from "./scheduled-request.js";
import {
  resultBytesOf,
  canSharePrefill,
  requiredCapacity,
  promptBytes,
  prefillChunk,
  prefillTogether,
} from "./scheduled-request.js";
import { chunkTokens } from "./prompt.js";
import { cacheBytes, roundRows } from "./key-value-cache.js";
import type { RowGroup, SamplingGroup } from "./row-group.js";
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
 * Starting order: highest priority; among equals the request with the fewest rows, so that one with many completions
 * does not starve the others; then order of arrival. A request that must wait for memory or rows blocks those that
 * arrived after it.
 */
export function createScheduler({ maxRows, memoryBytes }: SchedulerSettings): Scheduler {
  /** Requests with completions that have not started. */
  let queue: ScheduledRequest[] = [];
  let groups: RowGroup[] = [];
  /** Requests whose results are being collected. */
  let running: ScheduledRequest[] = [];
  let loop: Promise<void> | undefined;
  let [steps, prefills] = [0, 0];

  const rows = () => groups.reduce((sum, group) => sum + group.rows, 0);
  const rowsToStart = (scheduled: ScheduledRequest) => (scheduled.beams ? scheduled.context.request.n : 1);
  /** Returns the bytes in use after the next completion of the request has started. */
  const bytesAfterStart = (scheduled: ScheduledRequest): number => {
    const more = rowsToStart(scheduled);
    const group = scheduled.beams ? undefined : groupOf(scheduled);
    const others = running.filter((each) => each !== scheduled).reduce((sum, each) => sum + each.resultBytes, 0);
    const prompts = [...new Set([...queue.filter((each) => each.prompt ?? each.reader), scheduled])];
    return (
      groups.reduce((sum, each) => sum + groupBytes(each, each === group ? more : 0), 0) +
      (group ? 0 : groupBytes({ weights: scheduled.weights, capacity: scheduled.capacity, rows: 0 }, more)) +
      prompts.reduce((sum, each) => sum + promptBytes(each), 0) +
      others +
      scheduled.resultBytes
    );
  };
  const fits = (scheduled: ScheduledRequest) =>
    rows() + rowsToStart(scheduled) <= maxRows && bytesAfterStart(scheduled) <= memoryBytes;
  const groupOf = (scheduled: ScheduledRequest): SamplingGroup | undefined =>
    groups.find(
      (group): group is SamplingGroup =>
        "join" in group &&
        group.weights === scheduled.weights &&
        group.capacity === scheduled.capacity &&
        group.rows < maxRowsPerRun,
    );
  const nextToStart = (): ScheduledRequest | undefined => {
    const ordered = queue.toSorted((a, b) => b.priority - a.priority || a.rows - b.rows || a.order - b.order);
    let blocked = Infinity;
    for (const scheduled of ordered) {
      if (scheduled.order > blocked) continue;
      if (fits(scheduled)) return scheduled;
      blocked = scheduled.order;
    }
    return undefined;
  };

  /**
   * Returns the request and others whose short prompts can be prefilled in the same run, within the limits of rows and
   * memory.
   */
  const prefillBatch = (scheduled: ScheduledRequest): ScheduledRequest[] => {
    if (!canSharePrefill(scheduled)) return [scheduled];
    const length = (each: ScheduledRequest) => each.context.request.prompt.length;
    const batch = [scheduled];
    let tokens = length(scheduled);
    let bytes = bytesAfterStart(scheduled);
    let free = maxRows - rows() - rowsToStart(scheduled);
    for (const each of queue) {
      if (each === scheduled || each.weights !== scheduled.weights || !canSharePrefill(each)) continue;
      if (tokens + length(each) > chunkTokens || bytes + promptBytes(each) > memoryBytes || free <= 0) continue;
      batch.push(each);
      tokens += length(each);
      bytes += promptBytes(each);
      free -= rowsToStart(each);
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
    let group = groupOf(scheduled);
    if (!group) groups.push((group = createSamplingGroup(weights, scheduled.capacity)));
    const sameGroup = queue.filter(
      (each) => each.weights === weights && each.capacity === scheduled.capacity && !each.beams,
    );
    const unstarted = sameGroup.reduce((sum, each) => sum + each.unstarted, 0);
    const freeRows = Math.min(maxRowsPerRun - group.rows, maxRows - rows()) - 1;
    group.join({ scheduled, completion }, prompt, token, Math.min(unstarted, freeRows));
  };
  const admit = async (): Promise<void> => {
    // Prompt tokens that may be prefilled while rows wait for their next step.
    let budget = chunkTokens;
    let started = 0;
    for (;;) {
      removeSettled();
      const scheduled = nextToStart();
      if (!scheduled) {
        if (rows() === 0) dropPrompts();
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
  /** Releases the prompts of requests that wait for each other's memory, so that the first of them can start. */
  const dropPrompts = () => {
    for (const scheduled of queue) {
      scheduled.prompt = undefined;
      scheduled.reader = undefined;
    }
    running = running.filter((scheduled) => !scheduled.beams && scheduled.unstarted < scheduled.context.request.n);
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
      return groups.reduce((sum, group) => sum + groupBytes(group, 0), 0);
    },
    idle,
  };
}

/** Maximum number of rows per `run()`. */
const maxRowsPerRun = 64;

/** While a batch grows, its old caches, half as large as the new ones, exist in addition. */
const growthFactor = 1.5;

function groupBytes(
  { weights, capacity, rows }: Pick<RowGroup, "weights" | "capacity" | "rows">,
  more: number,
): number {
  const rounded = roundRows(Math.max(1, rows + more));
  return growthFactor * cacheBytes(weights.config, rounded, capacity) + 2 * 4 * rounded * weights.config.vocabularySize;
}

/** Returns the bytes that a request needs if nothing else runs: for one completion at a time, or for all beams. */
export function minBytes(scheduled: Pick<ScheduledRequest, "weights" | "context">): number {
  const { n, beamSearch } = scheduled.context.request;
  const group = { weights: scheduled.weights, capacity: requiredCapacity(scheduled.context), rows: 0 };
  return groupBytes(group, beamSearch ? n : 1) + promptBytes(scheduled) + resultBytesOf(scheduled.context);
}

/** Yields to the event loop. */
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
