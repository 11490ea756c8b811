import { expect, it } from "vitest";
import { mismatchedAnswers } from "./mismatched-answers.js";

const sequence = (prompt: number[], answer: number[]) => ({
  tokens: Int32Array.from([...prompt, ...answer]),
  mask: Uint8Array.from([...prompt.map(() => 0), ...answer.map(() => 1)]),
});

it("each prompt gets the answer to the one before, unless that is too long", () => {
  const answers = [sequence([1, 2], [3]), sequence([4], [5, 6]), sequence([7, 7, 7], [8])];
  expect(mismatchedAnswers(answers)).toEqual([sequence([1, 2], [8]), sequence([4], [3]), sequence([7, 7, 7], [5, 6])]);
  expect(mismatchedAnswers(answers, 4)).toHaveLength(2);
});
