import { textOf } from "../llm-models/variables.js";
import { commonSubsequence } from "./common-subsequence.js";
import { limitedText } from "./limited-text.js";
import { scorerClass } from "./scorer-class.js";
import { thresholdParameter, thresholdResult, withPassed } from "./threshold.js";

const maxText = 20_000;

export const tokenSimilarity = scorerClass({
  name: "TokenSimilarityScorer",
  description:
    "Compares the words of the output with those of the expected text, upper and lower case and punctuation aside.",
  reads: ["output", "expected"],
  parameters: {
    measure: {
      type: "string",
      enum: ["f1", "jaccard", "cosine", "rouge_l"],
      default: "f1",
      description:
        "`f1`: harmonic mean of precision and recall of the words. `jaccard`: shared different words divided by all different words. `cosine`: of the counts of words. `rouge_l`: F-measure of the longest common subsequence, which respects the order.",
    },
    threshold: thresholdParameter,
  },
  result: {
    score: `similarity, 0 to 1; texts may have ${maxText.toLocaleString("en")} characters`,
    ...thresholdResult,
  },
  open({ measure, threshold }) {
    return (variables) => {
      const [output = [], expected = []] = ["output", "expected"].map((name) =>
        wordsOf(limitedText(textOf(variables.need(name, "the scorer")), maxText, name)),
      );
      const isEmpty = output.length === 0 || expected.length === 0;
      const score = isEmpty ? Number(output.length === expected.length) : measures[measure](output, expected);
      return withPassed(score, threshold);
    };
  },
});

const segmenter = new Intl.Segmenter("en", { granularity: "word" });

function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const { segment, isWordLike } of segmenter.segment(text.normalize("NFKC").toLowerCase())) {
    if (isWordLike === true) words.push(segment);
  }
  return words;
}

type Words = readonly string[];

const measures = {
  f1(output: Words, expected: Words): number {
    const counts = countsOf(output);
    let shared = 0;
    for (const [word, count] of countsOf(expected)) shared += Math.min(count, counts.get(word) ?? 0);
    return (2 * shared) / (output.length + expected.length);
  },

  jaccard(output: Words, expected: Words): number {
    const [one, other] = [new Set(output), new Set(expected)];
    const shared = [...one].filter((word) => other.has(word)).length;
    return shared / (one.size + other.size - shared);
  },

  cosine(output: Words, expected: Words): number {
    const [one, other] = [countsOf(output), countsOf(expected)];
    let product = 0;
    for (const [word, count] of one) product += count * (other.get(word) ?? 0);
    // One square root of the product: equal texts score exactly 1.
    return product / Math.sqrt(squares(one) * squares(other));
  },

  rouge_l(output: Words, expected: Words): number {
    const shared = commonSubsequence(output.length, expected.length, (i, j) => output[i] === expected[j]);
    return (2 * shared) / (output.length + expected.length);
  },
};

function countsOf(words: Words): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function squares(counts: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const count of counts.values()) sum += count * count;
  return sum;
}
