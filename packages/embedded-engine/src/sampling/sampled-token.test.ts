import { expect, test } from "vitest";
import { rawDistribution } from "./raw-distribution.js";
import { alternativesCount, columnsOf, listOf, restoreTokens } from "./sampled-token.js";

/** Many equal entries, both zeros, and one that is impossible. */
const logits = Float32Array.from({ length: 1000 }, (_, id) => Math.round(8 * Math.sin(id)) / 2);
logits[17] = -0;
logits[18] = 0;
logits[19] = -Infinity;

test("the whole vocabulary comes most likely first, equal tokens by id, with the ranks they share", () => {
  const list = rawDistribution(logits, 0, logits.length).best(-1);
  const ids = Array.from(logits, (_, id) => id).toSorted((a, b) => logits[b]! - logits[a]! || a - b);
  expect(list.map(({ token }) => token)).toEqual(ids);
  for (const { token, rank } of list) expect(rank).toBe(1 + logits.filter((each) => each > logits[token]!).length);
});

test("a long list survives a copy to another process in columns", () => {
  const token = rawDistribution(logits, 0, logits.length).withAlternatives(-1)(3);
  const [restored] = restoreTokens([structuredClone(token)]);
  expect(Object.keys(structuredClone(token)).toSorted()).toEqual(["columns", "logprob", "token"]);
  expect(restored?.alternatives).toEqual(token.alternatives);
  expect([...(restored?.eachAlternative?.() ?? [])]).toEqual(token.alternatives);
  expect(alternativesCount(restored!)).toBe(1000);
  expect(listOf(columnsOf(token.alternatives))).toEqual(token.alternatives);
});

test("a short list stays one", () => {
  const token = rawDistribution(logits, 0, logits.length).withAlternatives(2)(3);
  expect(restoreTokens([structuredClone(token)])).toEqual([token]);
  expect(Object.hasOwn(token, "alternatives")).toBe(true);
});
