import type { Completion } from "@heddle/training";
import type { CompletionSampler } from "../sampling/completion-sampler.js";
import type { NextTokens } from "@heddle/structured-outputs";
import { createDecodeBatch } from "./decode-batch.js";
import type { ScheduledRequest } from "./scheduled-request.js";
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
  /** Drops the rows of settled requests, then decodes one step. */
  step(): Promise<void>;
}

/** Completions of several requests on the same weights. */
export interface SamplingGroup extends RowGroup {
  /**
   * Adds a completion that has its prompt and first token. `expectedRows`: how many further completions are about to be
   * added.
   */
  join(row: Row, prompt: PrefilledPrompt, token: number, expectedRows: number): void;
}

interface Row {
  scheduled: ScheduledRequest;
  completion: CompletionSampler;
}

export function createSamplingGroup(weights: PreparedWeights, capacity: number): SamplingGroup {
  const batch = createDecodeBatch(weights);
  let bySlot = new Map<number, Row>();

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
  const settled = () => [...bySlot].filter(([, { scheduled }]) => scheduled.settled).map(([slot]) => slot);

  return {
    weights,
    capacity,
    get rows() {
      return bySlot.size;
    },
    get allocatedRows() {
      return bySlot.size === 0 ? 0 : batch.rows;
    },
    *requests() {
      for (const { scheduled } of bySlot.values()) yield scheduled;
    },
    join(row, { cache, length }, token, expectedRows) {
      const slot = batch.add(cache, length, expectedRows);
      batch.setToken(slot, token);
      bySlot.set(slot, row);
      row.scheduled.rows++;
    },
    async step() {
      drop(settled());
      if (bySlot.size === 0) return;
      try {
        await batch.step([...new Set([...bySlot.values()].map(({ completion }) => completion.source))]);
      } catch (error) {
        for (const { scheduled } of bySlot.values()) scheduled.fail(error);
        drop(settled());
        return;
      }
      const finished: number[] = [];
      for (const [slot, { scheduled, completion }] of bySlot) {
        const output = batch.output(completion.source);
        const advanced = advance(scheduled, completion, output, slot * weights.config.vocabularySize);
        const token = advanced instanceof Promise ? await advanced : advanced;
        if (token === undefined) finished.push(slot);
        else batch.setToken(slot, token);
      }
      drop(finished);
    },
  };
}

/**
 * Samples one token of a completion from its row of `output` and emits it. Returns undefined when the completion has
 * finished. Returns a promise only when a constraint applies: most steps need none, and a promise costs more than the
 * rest.
 */
export function advance(
  scheduled: ScheduledRequest,
  completion: CompletionSampler,
  output: Float32Array,
  offset: number,
): number | undefined | Promise<number | undefined> {
  const constraint = completion.next();
  return constraint
    ? advanceConstrained(scheduled, completion, output, offset, constraint)
    : sampleNext(scheduled, completion, output, offset);
}

async function advanceConstrained(
  scheduled: ScheduledRequest,
  completion: CompletionSampler,
  output: Float32Array,
  offset: number,
  constraint: Promise<NextTokens>,
): Promise<number | undefined> {
  try {
    return await sampleNext(scheduled, completion, output, offset, await constraint);
  } catch (error) {
    scheduled.fail(error);
    return undefined;
  }
}

function sampleNext(
  scheduled: ScheduledRequest,
  completion: CompletionSampler,
  output: Float32Array,
  offset: number,
  next?: NextTokens,
): number | undefined | Promise<undefined> {
  if (scheduled.settled) return undefined;
  try {
    const { token, text, finished } = completion.sample(output, offset, next);
    if (scheduled.isStreaming) scheduled.emit({ index: completion.index, text, tokens: [token] });
    if (!finished) return token.token;
    const result = completion.result();
    if (result instanceof Promise) return finishAsync(scheduled, result);
    scheduled.finish([result]);
  } catch (error) {
    scheduled.fail(error);
  }
  return undefined;
}

async function finishAsync(scheduled: ScheduledRequest, result: Promise<Completion>): Promise<undefined> {
  try {
    scheduled.finish([await result]);
  } catch (error) {
    scheduled.fail(error);
  }
}
