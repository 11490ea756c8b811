import type { Completion } from "@heddle/training";
import type { CompletionSampler } from "../sampling/completion-sampler.js";
import type { NextTokens } from "@heddle/structured-outputs";
import { isLongestShortText } from "../model/long-texts.js";
import { createDecodeBatch } from "./decode-batch.js";
import type { ScheduledRequest } from "./scheduled-request.js";
import type { CacheRow } from "./prompt-blocks.js";
import type { PrefilledPrompt } from "./prompt.js";
import type { PreparedWeights } from "./prepared-weights.js";

/** Rows that are decoded together: one `run()` per step. */
export interface RowGroup {
  readonly weights: PreparedWeights;
  /** Maximum number of positions per row. */
  readonly capacity: number;
  readonly rows: number;
  /** Rows of its buffers, of which some may be empty. */
  readonly allocatedRows: number;
  /** Returns the request of each row. */
  requests(): Iterable<ScheduledRequest>;
  /** Whose rows these are; undefined for rows of many. Groups take turns by this. */
  readonly sharer: Sharer | undefined;
  /**
   * Drops the rows of settled requests, then decodes one step. Returns the time of this thread that it took. `onWaiting` is
   * called when it has to wait: for the masks of constraints, which other threads compute, or for whoever gets its chunks.
   */
  step(onWaiting: () => void): Promise<number>;
}

export type Sharer = NonNullable<ScheduledRequest["sharer"]>;

/** Completions of several requests on the same weights, all of one sharer or of many. */
export interface SamplingGroup extends RowGroup {
  /**
   * Adds a completion that has its prompt and first token, during a step after it. `expectedRows`: how many further
   * completions are about to be added.
   */
  join(started: StartedRow): void;
}

export interface Row {
  scheduled: ScheduledRequest;
  completion: CompletionSampler;
}

/** A row whose first token is known. */
export interface StartedRow {
  row: Row;
  prompt: PrefilledPrompt;
  token: number;
  expectedRows: number;
}

/** Gets a row whose text becomes a long one with its next token; see `isLongText`. It is no longer one of the group. */
type OnOutgrown = (row: Row) => void;

/** Gets the row of a completion that has ended, before its place is free, with the number of its positions. */
export type OnEnd = (ended: Row, row: CacheRow & { length: number }) => void;

export function createSamplingGroup(
  weights: PreparedWeights,
  {
    capacity,
    sharer,
    onEnd,
    onOutgrown,
  }: Pick<SamplingGroup, "capacity" | "sharer"> & { onEnd?: OnEnd; onOutgrown?: OnOutgrown },
): SamplingGroup {
  const batch = createDecodeBatch(weights);
  let bySlot = new Map<number, Row>();
  const joining: StartedRow[] = [];
  let isStepping = false;

  const drop = (slots: readonly number[]) => {
    if (slots.length === 0) return;
    for (const slot of slots) {
      const row = bySlot.get(slot);
      if (row) row.scheduled.rows--;
      bySlot.delete(slot);
      batch.remove(slot, { wipe: row?.scheduled.failed });
    }
    const moved = batch.trim();
    if (moved) bySlot = new Map([...bySlot].map(([slot, row]) => [moved.get(slot) ?? slot, row]));
  };
  const add = ({ row, prompt, token, expectedRows }: StartedRow) => {
    const slot = batch.add(prompt.cache, prompt.length, expectedRows);
    batch.setToken(slot, token);
    bySlot.set(slot, row);
  };
  /** Rows whose next token makes their texts long ones, so that all of it has to be read again. */
  const dropOutgrown = () => {
    const outgrown = [...bySlot].filter(([slot]) => isLongestShortText(weights.config, batch.row(slot).length));
    const rows = outgrown.filter(([, { scheduled }]) => !scheduled.settled).map(([, row]) => row);
    drop(outgrown.map(([slot]) => slot));
    for (const row of rows) onOutgrown?.(row);
  };
  const settled = () => [...bySlot].filter(([, { scheduled }]) => scheduled.settled).map(([slot]) => slot);

  const step = async (onWaiting: () => void): Promise<number> => {
    drop(settled());
    dropOutgrown();
    if (bySlot.size === 0) return 0;
    let began = performance.now();
    let ms = 0;
    try {
      await batch.step([...new Set([...bySlot.values()].map(({ completion }) => completion.source))]);
    } catch (error) {
      for (const { scheduled } of bySlot.values()) scheduled.fail(error);
      drop(settled());
      return performance.now() - began;
    }
    const masks = [...bySlot.values()].map(({ completion }) => completion.next());
    if (masks.some((mask) => mask !== undefined)) {
      ms = performance.now() - began;
      onWaiting();
      await Promise.allSettled(masks.filter((mask) => mask !== undefined));
      began = performance.now();
    }
    const finished: number[] = [];
    let index = 0;
    for (const [slot, { scheduled, completion }] of bySlot) {
      const row = { output: batch.output(completion.source), offset: slot * weights.config.vocabularySize };
      const advanced = advance(scheduled, completion, row, masks[index++]);
      const token = advanced instanceof Promise ? await advanced : advanced;
      if (token === undefined) finished.push(slot);
      else batch.setToken(slot, token);
    }
    for (const slot of finished) {
      const row = bySlot.get(slot);
      if (row && !row.scheduled.failed) onEnd?.(row, batch.row(slot));
    }
    drop(finished);
    const passingOn = [...bySlot.values()].flatMap(({ scheduled }) => scheduled.passingOn ?? []);
    ms += performance.now() - began;
    if (passingOn.length > 0) {
      onWaiting();
      await Promise.allSettled(passingOn);
    }
    return ms;
  };

  return {
    weights,
    capacity,
    sharer,
    get rows() {
      return bySlot.size + joining.length;
    },
    get allocatedRows() {
      return bySlot.size === 0 ? 0 : batch.rows;
    },
    *requests() {
      for (const { scheduled } of bySlot.values()) yield scheduled;
      for (const { row } of joining) yield row.scheduled;
    },
    join(started) {
      started.row.scheduled.rows++;
      if (isStepping) joining.push(started);
      else add(started);
    },
    async step(onWaiting) {
      isStepping = true;
      try {
        return await step(onWaiting);
      } finally {
        isStepping = false;
        for (const started of joining.splice(0)) add(started);
      }
    },
  };
}

/** A row of a model output. */
interface OutputRow {
  output: Float32Array;
  offset: number;
}

/**
 * Samples one token of a completion from its row and emits it. `next` is what the completion's `next` returned. Returns
 * undefined when the completion has finished. Returns a promise only when a constraint applies: most steps need none, and
 * a promise costs more than the rest.
 */
export function advance(
  scheduled: ScheduledRequest,
  completion: CompletionSampler,
  row: OutputRow,
  next: Promise<NextTokens> | undefined,
): number | undefined | Promise<number | undefined> {
  return next ? advanceConstrained(scheduled, completion, row, next) : sampleNext(scheduled, completion, row);
}

async function advanceConstrained(
  scheduled: ScheduledRequest,
  completion: CompletionSampler,
  row: OutputRow,
  next: Promise<NextTokens>,
): Promise<number | undefined> {
  try {
    return sampleNext(scheduled, completion, row, await next);
  } catch (error) {
    scheduled.fail(error);
    return undefined;
  }
}

function sampleNext(
  scheduled: ScheduledRequest,
  completion: CompletionSampler,
  { output, offset }: OutputRow,
  next?: NextTokens,
): number | undefined {
  if (scheduled.settled) return undefined;
  try {
    const { token, text, finished } = completion.sample(output, offset, next);
    if (scheduled.isStreaming) scheduled.emit({ index: completion.index, text, tokens: [token] });
    if (!finished) return token.token;
    const result = completion.result();
    if (result instanceof Promise) void finishAsync(scheduled, result);
    else scheduled.finish([result]);
  } catch (error) {
    scheduled.fail(error);
  }
  return undefined;
}

/** No row is left that would wait for it. */
async function finishAsync(scheduled: ScheduledRequest, result: Promise<Completion>): Promise<void> {
  try {
    scheduled.finish([await result]);
  } catch (error) {
    scheduled.fail(error);
  }
}
