import { describe, expect, test } from "vitest";
import type { Task } from "../scripts/corpus/corpus.js";
import { examplesOf, isHeldOut, taskNames, trainingExamples } from "../scripts/corpus/corpus.js";
import type { Example } from "../scripts/corpus/example.js";
import { isPassage } from "../scripts/corpus/example.js";

function take<Item>(source: Iterable<Item>, count: number): Item[] {
  const items: Item[] = [];
  for (const item of source) {
    if (items.length === count) break;
    items.push(item);
  }
  return items;
}

const answerOf = (example: Example): string =>
  isPassage(example) ? example.text : (example.messages.at(-1)?.content ?? "");

describe("the starter's corpus", () => {
  test("answers yes, no and maybe equally often, in every form", () => {
    const answers = take(examplesOf("yes-no-maybe", "training", 3), 3000).map(answerOf);
    const counts = ["yes", "no", "maybe"].map(
      (word) => answers.filter((answer) => new RegExp(String.raw`\b${word}\b`, "iu").test(answer)).length,
    );
    expect(counts).toEqual([1000, 1000, 1000]);
    for (const word of ["yes", "no", "maybe"]) {
      const bare = answers.filter((answer) => answer === word).length;
      expect(bare).toBeGreaterThan(540);
      expect(bare).toBeLessThan(660);
    }
  });

  test.each(taskNames)("never trains on held-out examples: %s", (task) => {
    const heldOut = new Set(take(examplesOf(task, "held out", 5), 200).map(({ key }) => key));
    const trained = take(examplesOf(task, "training", 6), 600).map(({ key }) => key);
    expect(trained.filter((key) => heldOut.has(key))).toEqual([]);
    expect(heldOut.size).toBeGreaterThan(1);
  });

  test("keeps a held-out pair of numbers out of training in either order", () => {
    const numbers = (example: Example): string => {
      const [, question] = isPassage(example) ? [] : [example, example.messages[0]?.content];
      return (question?.match(/\d+/gu) ?? []).toSorted().join("+");
    };
    const heldOut = new Set(take(examplesOf("two-digit sums", "held out", 5), 400).map(numbers));
    const trained = take(examplesOf("two-digit sums", "training", 6), 2000).map(numbers);
    expect(trained.filter((pair) => heldOut.has(pair))).toEqual([]);
  });

  test("holds back about one question of eight", () => {
    const drawn = take(examplesOf("copy", "training", 1), 1).length + countHeldOut("copy", 4000);
    expect(drawn / 4000).toBeGreaterThan(0.09);
    expect(drawn / 4000).toBeLessThan(0.16);
  });

  test("adds correctly and spells letter by letter", () => {
    for (const example of take(examplesOf("two-digit sums", "training", 9), 50)) {
      if (isPassage(example)) throw new Error("a sum is a conversation");
      const [left, right] = (example.messages[0]?.content.match(/\d+/gu) ?? []).map(Number);
      expect(Number(answerOf(example))).toBe((left ?? 0) + (right ?? 0));
    }
    for (const example of take(examplesOf("reverse", "training", 9), 50)) {
      if (isPassage(example)) throw new Error("a reversed word is in a conversation");
      const backwards = answerOf(example).split("").toReversed().join("");
      expect(example.messages[0]?.content.endsWith(` ${backwards}`)).toBe(true);
    }
  });

  test("is the same for a seed and another for another", () => {
    const texts = (seed: number) => take(trainingExamples(seed), 50).map(({ example }) => answerOf(example));
    expect(texts(4)).toEqual(texts(4));
    expect(texts(4)).not.toEqual(texts(5));
  });
});

function countHeldOut(task: Task, candidates: number): number {
  return Array.from({ length: candidates }, (_, index) =>
    isHeldOut(task, { text: "", key: `candidate ${index}` }),
  ).filter(Boolean).length;
}
