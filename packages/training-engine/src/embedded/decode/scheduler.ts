import { EngineError } from "../../engine-error.js";
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
  /** Rows decoded at once, over all weights. */
  maxRows: number;
  /** Of caches and of what is kept for answers. */
  memoryBytes: number;
}

export interface Scheduler {
  add(scheduled: ScheduledRequest): void;
  /** Jobs of which no completion has begun. */
  readonly queued: number;
  readonly rows: number;
  readonly steps: number;
  readonly prefills: number;
  readonly cacheBytes: number;
  /** Resolves when nothing runs any more. */
  idle(): Promise<void>;
}

/**
 * Decodes all jobs together. Per turn: completions that there is room for begin, each with its first token from its job's
 * prompt, which is read once for all of them, and short ones side by side; then every group of rows takes a step; then the
 * event loop turns.
 *
 * Who begins: the highest priority; among equals the job with the fewest rows, so that one with many completions does not
 * shut the others out; then who came first. A job that must wait for memory or rows lets those that came before it go on, and
 * nobody after it.
 */
export function createScheduler({ maxRows, memoryBytes }: SchedulerSettings): Scheduler {
  /** Jobs that still have something to begin. */
  let queue: ScheduledRequest[] = [];
  let groups: RowGroup[] = [];
  /** Jobs whose answers are being collected. */
  let running: ScheduledRequest[] = [];
  let loop: Promise<void> | undefined;
  let [steps, prefills] = [0, 0];

  const rows = () => groups.reduce((sum, group) => sum + group.rows, 0);
  const rowsToStart = (scheduled: ScheduledRequest) => (scheduled.beams ? scheduled.context.request.n : 1);
  /** Memory in use once more of the job begins. */
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

  /** The job and others whose short prompts can be read in the same run, as far as rows and memory go. */
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
    // Prompt tokens read while rows wait for their next step.
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
        // Completions of one token end here and take no step, between which the event loop would turn.
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
  /** Gives back what jobs hold that wait for each other's memory, so that the first of them gets it. */
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
    // Requests that come together begin together.
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

  /** What no request is to blame for, such as no memory where there should be some. */
  const failAll = (error: unknown) => {
    const reason =
      error instanceof EngineError ? error : new EngineError("failed", `sampling broke down: ${String(error)}`);
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
        // What was added while the requests of a broken loop were told.
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

/** Rows of one `run()`. */
const maxRowsPerRun = 64;

/** While a batch grows its old and its new caches are there at once, and the old ones are half as large. */
const growthFactor = 1.5;

function groupBytes(
  { weights, capacity, rows }: Pick<RowGroup, "weights" | "capacity" | "rows">,
  more: number,
): number {
  const rounded = roundRows(Math.max(1, rows + more));
  return growthFactor * cacheBytes(weights.config, rounded, capacity) + 2 * 4 * rounded * weights.config.vocabularySize;
}

/** What a request takes when nothing else runs: one of its completions at a time, or all of its beams. */
export function minBytes(scheduled: Pick<ScheduledRequest, "weights" | "context">): number {
  const { n, beamSearch } = scheduled.context.request;
  const group = { weights: scheduled.weights, capacity: requiredCapacity(scheduled.context), rows: 0 };
  return groupBytes(group, beamSearch ? n : 1) + promptBytes(scheduled) + resultBytesOf(scheduled.context);
}

/** Lets timers, messages and other callbacks run. */
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
