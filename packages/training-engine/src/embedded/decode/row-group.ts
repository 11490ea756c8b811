import type { Completion } from "../../sampling/completion.js";
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
  /** Lets a completion go on after its prompt and first token. */
  join(row: Row, prompt: ReadPrompt, token: number): void;
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
      batch.remove(slot);
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
    join(row, { cache, length }, token) {
      const slot = batch.add(cache, 0, length);
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
        const token = await advance(job, completion, output, slot * weights.config.vocabularySize);
        if (token === undefined) finished.push(slot);
        else batch.setToken(slot, token);
      }
      drop(finished);
    },
  };
}

/** Samples one token of a completion from its row of `output` and hands it on; undefined when the completion needs no more. */
export async function advance(
  job: Job,
  completion: Completion,
  output: Float32Array,
  offset: number,
): Promise<number | undefined> {
  try {
    const next = await completion.next();
    if (job.settled) return undefined;
    const { token, text, finished } = completion.sample(output, offset, next);
    job.emit({ index: completion.index, text, tokens: [token] });
    if (!finished) return token.token;
    job.finish([await completion.result()]);
  } catch (error) {
    job.fail(error);
  }
  return undefined;
}
