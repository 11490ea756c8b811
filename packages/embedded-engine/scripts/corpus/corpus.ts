/** The starter's corpus: all text is generated or was written for it. Every example is for training or held out. */
import { oneDigitSums, twoDigitSums } from "./arithmetic.js";
import type { Example, Generator } from "./example.js";
import { guide } from "./guides.js";
import { jsonFromPairs, jsonFromSentence } from "./json.js";
import { paragraph } from "./paragraphs.js";
import { shortQuestion } from "./questions.js";
import { seededRandom } from "./random.js";
import { sentences } from "./sentences.js";
import { sentiment } from "./sentiment.js";
import { smallTalk } from "./small-talk.js";
import { toolCall } from "./tool-calls.js";
import { copy, reverse, spell, upperCase } from "./words-to-words.js";
import { yesNoMaybe } from "./yes-no-maybe.js";

/** Share of each task, counted in examples; together 100. */
const tasks = {
  "yes-no-maybe": { share: 10, generate: yesNoMaybe },
  "one-digit sums": { share: 6, generate: oneDigitSums },
  "two-digit sums": { share: 13, generate: twoDigitSums },
  copy: { share: 8, generate: copy },
  "upper case": { share: 8, generate: upperCase },
  reverse: { share: 7, generate: reverse },
  spell: { share: 6, generate: spell },
  "JSON from a sentence": { share: 8, generate: jsonFromSentence },
  "JSON from pairs": { share: 4, generate: jsonFromPairs },
  "tool call": { share: 5, generate: toolCall },
  sentiment: { share: 5, generate: sentiment },
  "short question": { share: 6, generate: shortQuestion },
  "small talk": { share: 4, generate: smallTalk },
  sentences: { share: 4, generate: sentences },
  paragraphs: { share: 3, generate: paragraph },
  guides: { share: 3, generate: guide },
} satisfies Record<string, { share: number; generate: Generator }>;

export type Task = keyof typeof tasks;
export const taskNames = Object.keys(tasks) as Task[];

/** One example of eight is held out, whatever the seed, by its question. It is never used for training. */
export function isHeldOut(task: Task, example: Example): boolean {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${task}\n${example.key}`)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash ^= hash >>> 15;
  return (Math.imul(hash, 0x2c1b3c6d) >>> 0) % 8 === 0;
}

/** Yields examples of one task, for training or held out, indefinitely. */
export function* examplesOf(task: Task, side: "training" | "held out", seed: number): Endless<Example> {
  const random = seededRandom(seed + taskNames.indexOf(task) * 7919);
  for (let index = 0; ; index++) {
    let example = tasks[task].generate(random, index);
    while (isHeldOut(task, example) !== (side === "held out")) example = tasks[task].generate(random, index);
    yield example;
  }
}
type Endless<T> = IterableIterator<T, never>;

/** Yields training examples of all tasks by their shares, indefinitely. */
export function* trainingExamples(seed: number): Endless<{ task: Task; example: Example }> {
  const random = seededRandom(seed);
  const sources = new Map(taskNames.map((task) => [task, examplesOf(task, "training", seed + 1)] as const));
  const drawn = taskNames.flatMap((task) => Array.from({ length: tasks[task].share }, () => task));
  for (;;) {
    const task = random.pick(drawn);
    const source = sources.get(task);
    if (source) yield { task, example: source.next().value };
  }
}
