import { expect, test } from "vitest";
import { ScoreSummary } from "./summarize.js";

const summaryOf = (...predicted: unknown[]): unknown => {
  const summary = new ScoreSummary();
  for (const one of predicted) summary.add(typeof one === "string" ? one : JSON.stringify(one));
  return JSON.parse(summary.text());
};
const scores = (value: unknown) => ({ output: "x", scores: value, model_latency: { mean: null } });

test("numbers have a mean, booleans a fraction, at each path; texts and lists are left out", () => {
  expect(
    summaryOf(
      { output: 1, scores: { a: 1, b: { ok: true, why: "x", deep: { n: 2 } } }, model_latency: { mean: 0.5 } },
      { output: 3, scores: { a: 2, b: { ok: false, list: [1], deep: { n: 4 } } }, model_latency: { mean: 1.5 } },
      { output: null, scores: {}, model_latency: { mean: null } },
    ),
  ).toEqual({
    a: { mean: 1.5 },
    b: { ok: { mean: 0.5, true_count: 1, true_fraction: 0.5 }, deep: { n: { mean: 3 } } },
    output: { mean: 2 },
    model_latency: { mean: 1 },
  });
});

test("a value that is not a score changes nothing", () => {
  expect(summaryOf(scores({ a: null, b: "text" }), scores({ a: 2 }), scores(null), scores([1]))).toEqual({
    a: { mean: 2 },
  });
  expect(summaryOf('{"scores":{"a":NaN,"b":1e999,"c":Infinity}}', "null", "{}", '"text"')).toEqual({});
});

test("names of scorers may be any text", () => {
  const summary = new ScoreSummary();
  summary.add('{"scores":{"__proto__":1,"output":true,"constructor":{"__proto__":2}},"output":5}');
  expect(summary.text()).toBe(
    '{"output":{"mean":1,"true_count":1,"true_fraction":1},"__proto__":{"mean":1},"constructor":{"__proto__":{"mean":2}}}',
  );
});

test("scores with keys made of data are summarized up to a limit", () => {
  const summary = new ScoreSummary();
  for (let n = 0; n < 3000; n++) summary.add(JSON.stringify(scores({ a: { [`key ${n}`]: n }, b: 1 })));
  const keys = Object.keys((JSON.parse(summary.text()) as { a: object }).a);
  expect(keys.length).toBeGreaterThan(900);
  expect(keys.length).toBeLessThan(1001);
  expect(() => summary.add(`{"scores":${'{"a":'.repeat(150)}1${"}".repeat(150)}}`)).not.toThrow();
});
