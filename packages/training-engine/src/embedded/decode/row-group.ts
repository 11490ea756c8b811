import type { Generation } from "../../port.js";
import type { Completion } from "../../sampling/completion.js";
import type { NextTokens } from "../../sampling/structured/constraints.js";
import { createDecodeBatch } from "./decode-batch.js";
import type { Job } from "./job.js";
import type { ReadPrompt } from "./prompt.js";
import type { LoadedWeights } from "./loaded-weights.js";

/** Rows that decode together: one `run()` per step. */
export interface RowGroup {
  readonly weights: LoadedWeights;
  /** Positions its rows may come to have. */
  readonly capacity: number;
  readonly rows: number;
  /** Drops the rows of jobs that are settled, then takes one step. */
  step(): Promise<void>;
}

/** Completions of any jobs on the same weights. */
export interface SamplingGroup extends RowGroup {
  /** Lets a completion go on after its prompt and first token; `coming`: how many more are about to join. */
  join(row: Row, prompt: ReadPrompt, token: number, coming: number): void;
}

interface Row {
  job: Job;
  completion: Completion;
}

export function createSamplingGroup(weights: LoadedWeights, capacity: number): SamplingGroup {
  const batch = createDecodeBatch(weights);
  let bySlot = new Map<number, Row>();

  const drop = (slots: readonly number[]) => {
    if (slots.length === 0) return;
    for (const slot of slots) {
      const row = bySlot.get(slot);
      if (row) row.job.rows--;
      bySlot.delete(slot);
      batch.remove(slot, { wipe: row?.job.failed });
    }
    const moved = batch.trim();
    if (moved) bySlot = new Map([...bySlot].map(([slot, row]) => [moved.get(slot) ?? slot, row]));
  };
  const settled = () => [...bySlot].filter(([, { job }]) => job.settled).map(([slot]) => slot);

  return {
    weights,
    capacity,
    get rows() {
      return bySlot.size;
    },
    join(row, { cache, length }, token, coming) {
      const slot = batch.add(cache, length, coming);
      batch.setToken(slot, token);
      bySlot.set(slot, row);
      row.job.rows++;
    },
    async step() {
      drop(settled());
      if (bySlot.size === 0) return;
      try {
        await batch.step([...new Set([...bySlot.values()].map(({ completion }) => completion.source))]);
      } catch (error) {
        for (const { job } of bySlot.values()) job.fail(error);
        drop(settled());
        return;
      }
      const finished: number[] = [];
      for (const [slot, { job, completion }] of bySlot) {
        const output = batch.output(completion.source);
        const advanced = advance(job, completion, output, slot * weights.config.vocabularySize);
        const token = advanced instanceof Promise ? await advanced : advanced;
        if (token === undefined) finished.push(slot);
        else batch.setToken(slot, token);
      }
      drop(finished);
    },
  };
}

/**
 * Samples one token of a completion from its row of `output` and hands it on; undefined when the completion needs no more.
 * A promise only where a constraint has a say: most steps of most rows need none, and a promise costs more than the rest.
 */
export function advance(
  job: Job,
  completion: Completion,
  output: Float32Array,
  offset: number,
): number | undefined | Promise<number | undefined> {
  const waiting = completion.next();
  return waiting ? advanceBound(job, completion, output, offset, waiting) : take(job, completion, output, offset);
}

async function advanceBound(
  job: Job,
  completion: Completion,
  output: Float32Array,
  offset: number,
  waiting: Promise<NextTokens>,
): Promise<number | undefined> {
  try {
    return await take(job, completion, output, offset, await waiting);
  } catch (error) {
    job.fail(error);
    return undefined;
  }
}

function take(
  job: Job,
  completion: Completion,
  output: Float32Array,
  offset: number,
  next?: NextTokens,
): number | undefined | Promise<undefined> {
  if (job.settled) return undefined;
  try {
    const { token, text, finished } = completion.sample(output, offset, next);
    if (job.streams) job.emit({ index: completion.index, text, tokens: [token] });
    if (!finished) return token.token;
    const result = completion.result();
    if (result instanceof Promise) return finishLater(job, result);
    job.finish([result]);
  } catch (error) {
    job.fail(error);
  }
  return undefined;
}

async function finishLater(job: Job, result: Promise<Generation>): Promise<undefined> {
  try {
    job.finish([await result]);
  } catch (error) {
    job.fail(error);
  }
}
