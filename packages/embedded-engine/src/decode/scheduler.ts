import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import { FairQueue } from "@heddle/concurrency";
import type { Turn } from "@heddle/concurrency";
import { createBeamGroup } from "./beam-group.js";
import type { ScheduledRequest } from "./scheduled-request.js";
import { canSharePrefill, prefillChunk, prefillTogether, takeKeptPrompt } from "./scheduled-request.js";
import { Admission, groupBytes } from "./admission.js";
import type { PromptCache } from "./prompt-cache.js";
import { chunkTokens } from "./prompt.js";
import type { CacheRow } from "./prompt-blocks.js";
import { createReadingGroup } from "./reading-group.js";
import type { Row, RowGroup, SamplingGroup, StartedRow } from "./row-group.js";
import { advance, createSamplingGroup } from "./row-group.js";

export interface SchedulerSettings {
  /** Maximum number of rows decoded at the same time, over all weights. */
  maxRows: number;
  /** Memory limit of caches and results, in bytes. */
  memoryBytes: number;
  /** Keeps prompts in what requests leave of the memory. */
  prompts: PromptCache;
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

/** A row group takes a step; a request is prefilled, or starts completions. */
type Work = RowGroup | ScheduledRequest;

/** For so long a request goes on starting completions. */
const startMs = 5;

/**
 * Decodes all requests together. Each iteration does one piece of work, of whoever has used the least time: a step of a row
 * group, or what the next request needs to start, a part of its prompt (short prompts in one run) or its completions, each
 * with its first token from the prompt. Then it yields to the event loop. A group whose constraints are being computed
 * keeps nobody waiting.
 *
 * `Admission` says which request starts next.
 */
export function createScheduler({ maxRows, memoryBytes, prompts }: SchedulerSettings): Scheduler {
  /** Requests with completions that have not started. */
  let queue: ScheduledRequest[] = [];
  let groups: RowGroup[] = [];
  /** Requests whose results are being collected. */
  let running: ScheduledRequest[] = [];
  let loop: Promise<void> | undefined;
  let [steps, prefills] = [0, 0];
  let turns = new FairQueue<Work>();
  /** The request that starts next, while it waits for its turn. */
  let offered: { scheduled: ScheduledRequest; remove: () => void } | undefined;
  /** Steps that have not ended. */
  let stepping = 0;
  let wake = () => {};

  const admission = new Admission({ rows: maxRows, bytes: memoryBytes });
  const state = () => ({ queue, running, groups });
  const rows = () => groups.reduce((sum, group) => sum + group.rows, 0);

  /** Returns the request and others of its key whose short prompts can be prefilled in the same run, as far as they may start. */
  const prefillBatch = (scheduled: ScheduledRequest): ScheduledRequest[] => {
    if (!canSharePrefill(scheduled)) return [scheduled];
    const length = (each: ScheduledRequest) => each.context.request.prompt.length;
    const batch = [scheduled];
    let tokens = length(scheduled);
    for (const each of queue) {
      if (each === scheduled || each.weights !== scheduled.weights || !isOfSameKey(each, scheduled)) continue;
      if (!canSharePrefill(each) || prompts.has(each.weights, each.context.request)) continue;
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
      prompts.limit(admission.bytesLeft(state(), scheduled, scheduled.context.request.n));
      open(createBeamGroup(scheduled, scheduled.beams, prompt));
      scheduled.prompt = undefined;
      return;
    }
    const completion = scheduled.startCompletion();
    if (!completion) return;
    if (scheduled.unstarted === 0) scheduled.prompt = undefined;
    const token = await advance(
      scheduled,
      completion,
      { output: prompt[completion.source], offset: 0 },
      completion.next(),
    );
    if (token === undefined) return;
    const group = groupOf(scheduled);
    const following = queue.filter(
      (each) =>
        each.weights === weights && each.capacity === scheduled.capacity && isOfSameKey(each, scheduled) && !each.beams,
    );
    const unstarted = following.reduce((sum, each) => sum + each.unstarted, 0);
    const expected = admission.rowsToFollow(state(), scheduled, group, unstarted);
    prompts.limit(admission.bytesLeft(state(), scheduled, 1 + expected));
    group.join({ row: { scheduled, completion }, prompt, token, expectedRows: expected });
  };
  /** The group that a row of a request joins. */
  const groupOf = (scheduled: ScheduledRequest): SamplingGroup => {
    const known = admission.groupFor(state(), scheduled);
    if (known) return known;
    const { weights, capacity } = scheduled;
    const sharer = admission.sharerOfGroup(state(), scheduled);
    const group = createSamplingGroup(weights, { capacity, sharer, onEnd: keepGenerated, onOutgrown: readAgain });
    open(group);
    return group;
  };
  const readAgain = (row: Row) => {
    const rejoin = (started: StartedRow) => {
      prompts.limit(admission.bytesLeft(state(), row.scheduled));
      groupOf(row.scheduled).join(started);
    };
    prompts.limit(admission.bytesLeft(state(), row.scheduled));
    open(createReadingGroup(row, rejoin));
  };
  const keepGenerated = ({ scheduled, completion }: Row, row: CacheRow & { length: number }) => {
    const { weights, context } = scheduled;
    const { prompt } = context.request;
    const tokens = new Int32Array(row.length);
    tokens.set(prompt);
    for (let at = prompt.length; at < row.length; at++) tokens[at] = completion.tokens[at - prompt.length]!.token;
    prompts.keepGenerated(weights, context.request, tokens, row, admission.bytesLeft(state(), scheduled, 0));
  };
  const open = (group: RowGroup) => {
    groups.push(group);
    turns.add(group.sharer, group);
  };
  /** Offers a turn to the request that starts next. */
  const offerNext = () => {
    removeSettled();
    const scheduled = queue.length > 0 ? admission.next(state()) : undefined;
    if (queue.length > 0 && !scheduled) dropPrompts();
    if (offered && offered.scheduled === scheduled) return;
    offered?.remove();
    offered = scheduled && { scheduled, remove: turns.add(scheduled.sharer, scheduled) };
  };
  /** Prefills a part of its prompt, or starts completions of it and of other requests of its key. */
  const begin = async (first: ScheduledRequest): Promise<void> => {
    const began = performance.now();
    let scheduled: ScheduledRequest | undefined = first;
    if (!running.includes(first)) running.push(first);
    prompts.limit(admission.bytesLeft(state(), first));
    if (!first.prompt) takeKeptPrompt(first, prompts);
    if (!first.prompt) {
      const batch = prefillBatch(first);
      prefills += batch.filter((each) => !each.reader).length;
      prompts.limit(admission.bytesLeft({ ...state(), starting: batch.slice(1) }, first));
      await (batch.length > 1 ? prefillTogether(batch) : prefillChunk(first, prompts)).catch((error: unknown) => {
        for (const each of batch) each.fail(error);
      });
      for (const { weights, context, prompt } of batch) {
        if (prompt) prompts.keep(weights, context.request, prompt, admission.bytesLeft(state(), first));
      }
    }
    do {
      removeSettled();
      scheduled = queue.length > 0 ? admission.next(state()) : undefined;
      if (!scheduled?.prompt || !isOfSameKey(scheduled, first)) return;
      if (!running.includes(scheduled)) running.push(scheduled);
      await startNext(scheduled);
    } while (performance.now() - began < startMs);
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
  /** Takes a step of a group; resolves when it has ended, or waits for constraints. */
  const step = async (turn: Turn<Work>, group: RowGroup): Promise<void> => {
    const current = turns;
    let waits = () => {};
    const waiting = new Promise<void>((resolve) => (waits = resolve));
    stepping++;
    const done = (async () => {
      try {
        const ms = await group.step(waits);
        steps++;
        // What was emitted is sent in this iteration of the event loop.
        const began = performance.now();
        await yieldToEventLoop();
        turn.end(ms + performance.now() - began);
        if (current !== turns) return;
        if (group.rows > 0) turns.add(group.sharer, group);
        else groups = groups.filter((each) => each !== group);
      } finally {
        stepping--;
        wake();
      }
    })();
    await Promise.race([done, waiting.then(() => void done.catch(failAll))]);
  };
  const run = async (): Promise<void> => {
    // Requests of one event loop iteration start together.
    await yieldToEventLoop();
    while (queue.length > 0 || groups.length > 0) {
      offerNext();
      const turn = turns.take();
      if (!turn) {
        // All rows wait for their constraints.
        if (stepping > 0) await new Promise<void>((resolve) => (wake = resolve));
        else await yieldToEventLoop();
        continue;
      }
      if ("step" in turn.item) {
        await step(turn, turn.item);
        continue;
      }
      offered = undefined;
      const began = performance.now();
      await begin(turn.item);
      await yieldToEventLoop();
      turn.end(performance.now() - began);
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
    turns = new FairQueue();
    offered = undefined;
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
      wake();
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

function isOfSameKey(one: ScheduledRequest, other: ScheduledRequest): boolean {
  return one.sharer?.key === other.sharer?.key;
}
