import { expect, test } from "vitest";
import type { LogitSettings } from "./logit-controls.js";
import { logitControls } from "./logit-controls.js";

/** Logits 1, 1, … and what the settings make of them after these tokens were sampled. */
function controlled(
  settings: LogitSettings,
  { prompt = [] as number[], sampled = [] as number[], ends = [5], size = 6 } = {},
) {
  const controls = logitControls(settings, Int32Array.from(prompt), ends);
  for (const token of sampled) controls?.recordToken(token);
  const logits = new Float64Array(size).fill(1);
  controls?.apply(logits);
  return [...logits];
}
const no = -Infinity;

test("settings that change nothing need no controls", () => {
  const settings = {
    minTokens: 0,
    repetitionPenalty: 1,
    frequencyPenalty: 0,
    presencePenalty: 0,
    logitBias: new Map(),
  };
  expect(logitControls(settings, Int32Array.of(1), [0])).toBeUndefined();
});

test("only allowed tokens may follow", () => {
  expect(controlled({ allowedTokenIds: [1, 4] })).toEqual([no, 1, no, no, 1, no]);
});

test("end-of-text is forbidden before the minimum number of tokens", () => {
  expect(controlled({ minTokens: 2 }, { sampled: [0], ends: [2, 5] })).toEqual([1, 1, no, 1, 1, no]);
  expect(controlled({ minTokens: 2 }, { sampled: [0, 0], ends: [2, 5] })).toEqual([1, 1, 1, 1, 1, 1]);
});

test("the last token of a bad word is forbidden after its other tokens", () => {
  const badWords = [Int32Array.of(3), Int32Array.of(1, 2), Int32Array.of(0, 1, 4)];
  expect(controlled({ badWords })).toEqual([1, 1, 1, no, 1, 1]);
  expect(controlled({ badWords }, { sampled: [1] })).toEqual([1, 1, no, no, 1, 1]);
  expect(controlled({ badWords }, { sampled: [0, 1] })).toEqual([1, 1, no, no, no, 1]);
  expect(controlled({ badWords }, { sampled: [1, 0] })).toEqual([1, 1, 1, no, 1, 1]);
});

test("a bad word of the prompt does not count", () => {
  expect(controlled({ badWords: [Int32Array.of(1, 2)] }, { prompt: [1] })).toEqual([1, 1, 1, 1, 1, 1]);
});

test("biases are added", () => {
  const logitBias = new Map([
    [0, 2.5],
    [3, -100],
  ]);
  expect(controlled({ logitBias })).toEqual([3.5, 1, 1, -99, 1, 1]);
});

test("frequency counts every sampled token, presence only whether it was", () => {
  const sampled = [1, 1, 1, 4];
  expect(controlled({ frequencyPenalty: 0.5 }, { sampled })).toEqual([1, -0.5, 1, 1, 0.5, 1]);
  expect(controlled({ presencePenalty: 0.5 }, { sampled })).toEqual([1, 0.5, 1, 1, 0.5, 1]);
});

test("the repetition penalty divides positive logits, multiplies negative ones, and includes the prompt", () => {
  const controls = logitControls({ repetitionPenalty: 2 }, Int32Array.of(0, 1), [])!;
  controls.recordToken(2);
  const logits = Float64Array.of(4, -4, 1, 1);
  controls.apply(logits);
  expect([...logits]).toEqual([2, -8, 0.5, 1]);
});

test("bias is applied before penalties and never allows a forbidden token", () => {
  const settings = { logitBias: new Map([[1, 3]]), repetitionPenalty: 2, allowedTokenIds: [1, 2] };
  expect(controlled({ ...settings }, { sampled: [1] })).toEqual([no, 2, 1, no, no, no]);
  expect(controlled({ logitBias: new Map([[0, 100]]), badWords: [Int32Array.of(0)] })[0]).toBe(no);
});

test("a constraint's mask is applied, and its end-of-text is not forbidden", () => {
  const controls = logitControls({ minTokens: 3 }, Int32Array.of(0), [5])!;
  const masked = (onlyEos: boolean) => {
    const logits = new Float64Array(40).fill(1);
    controls.apply(logits, Int32Array.of(1 << 5, 1 << 2), onlyEos);
    return [...logits].flatMap((logit, token) => (logit === no ? [] : [token]));
  };
  expect(masked(false)).toEqual([34]);
  expect(masked(true)).toEqual([5, 34]);
});
