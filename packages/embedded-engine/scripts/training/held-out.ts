import type { TokenSequence } from "@heddle/training";
import type { Task } from "../corpus/corpus.js";
import { examplesOf, taskNames } from "../corpus/corpus.js";
import type { EncodedExample, Encoder } from "./encode.js";

export interface HeldOut {
  task: Task;
  examples: EncodedExample[];
}

/** Examples of every task, the same for a seed. */
export function heldOutExamples(encode: Encoder, perTask: number, seed: number): HeldOut[] {
  return taskNames.map((task) => {
    const source = examplesOf(task, "held out", seed);
    return { task, examples: Array.from({ length: perTask }, () => encode(source.next().value)) };
  });
}

export interface TaskScore {
  task: Task;
  /** Nats per token of the answers. */
  loss: number;
  /** Share of answers whose every token has a probability above 0.5, which greedy decoding is certain to reproduce. */
  certain: number;
}

type Logprobs = (sequences: TokenSequence[]) => Promise<Float64Array[]>;

export async function scoreByLogprobs(heldOut: HeldOut[], logprobs: Logprobs): Promise<TaskScore[]> {
  const scores: TaskScore[] = [];
  for (const { task, examples } of heldOut) {
    const results = await logprobs(examples.map(answersOnly));
    const answers = results.map((row, at) => row.slice(Math.max(1, examples[at]?.answer ?? 0)));
    const total = answers.reduce((sum, row) => sum + row.reduce((inner, value) => inner + value, 0), 0);
    const tokens = answers.reduce((sum, row) => sum + row.length, 0);
    const certain = answers.filter((row) => row.every((value) => value > Math.log(0.5))).length;
    scores.push({ task, loss: -total / tokens, certain: certain / answers.length });
  }
  return scores;
}

function answersOnly({ tokens, answer }: EncodedExample): TokenSequence {
  const mask = new Uint8Array(tokens.length).fill(1, Math.max(1, answer));
  return { tokens: Int32Array.from(tokens), mask };
}
