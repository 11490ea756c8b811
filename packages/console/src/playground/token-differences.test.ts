import { expect, test } from "vitest";
import { draftOf } from "./draft.js";
import { comparedTokens, readingOf, sumOf } from "./token-differences.js";

const choice = { text: 'a "b"', reasoning: "", tools: [], finish: "stop" };
const { draft } = draftOf(
  '{"model":"m","messages":[{"role":"user","content":"x","odd":1.0}],"tools":[],"temperature":0.0,"n":3}',
);

test("a model reads the conversation with the answer, as exact text, and without what only shapes sampling", () => {
  expect(readingOf(draft, choice, "base")).toBe(
    String.raw`{"model":"base","messages":[{"role":"user","content":"x","odd":1.0},{"role":"assistant","content":"a \"b\""}],"tools":[],"add_generation_prompt":false,"prompt_logprobs":0,"max_completion_tokens":1,"store":false}`,
  );
  expect(JSON.parse(readingOf(draft, { ...choice, reasoning: "why" }, "base"))).toMatchObject({
    messages: [{}, { reasoning_content: "why" }],
  });
});

const reading = (...logprobs: (number | null)[]) => ({
  prompt_logprobs: logprobs.map((logprob, id) =>
    logprob === null ? null : { [id]: { logprob, rank: 1, decoded_token: `t${id}` } },
  ),
});

test("each token of the answer has both log-probabilities, the prompt has none", () => {
  const tokens = comparedTokens(reading(null, -1, -2, -0.5), reading(null, -1, -3, -4), 2);
  expect(tokens).toEqual([
    { text: "t2", here: -2, base: -3 },
    { text: "t3", here: -0.5, base: -4 },
  ]);
  expect([sumOf(tokens, "here"), sumOf(tokens, "base")]).toEqual([-2.5, -7]);
});

test("models that read other tokens, or say nothing of them, are not compared", () => {
  expect(() => comparedTokens({ prompt_logprobs: null }, reading(null), 0)).toThrow("no log-probabilities");
  expect(() => comparedTokens(reading(null, -1), reading(null, -1, -1), 1)).toThrow("other tokens");
  const other = { prompt_logprobs: [null, { 9: { logprob: -1, rank: 1, decoded_token: "x" } }] };
  expect(() => comparedTokens(reading(null, -1), other, 1)).toThrow("other tokens");
});
