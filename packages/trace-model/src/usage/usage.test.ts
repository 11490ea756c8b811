import { describe, expect, test } from "vitest";
import { runSteps } from "../steps.js";
import { rollUpUsage } from "./roll-up.js";
import { addUsage, usageOf } from "./usage.js";
import type { UsageRow } from "./usage.js";

const row = (model: string, counts: Partial<UsageRow>): UsageRow => ({
  model,
  requests: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  cache_read_tokens: 0,
  cache_creation_tokens: 0,
  ...counts,
});

const rolledUp = (...given: Parameters<typeof rollUpUsage<UsageRow>>) => runSteps(rollUpUsage(...given));

describe("usage of a call", () => {
  test("adds the providers' names for the same thing", () => {
    expect(
      usageOf(`{"usage":{"gpt": {"prompt_tokens": 3, "input_tokens": 4, "completion_tokens": 5, "output_tokens": 6, "requests": 1,
        "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1, "prompt_tokens_details": {"x": 1}}}}`),
    ).toEqual([
      row("gpt", {
        requests: 1,
        prompt_tokens: 7,
        completion_tokens: 11,
        total_tokens: 18,
        cache_read_tokens: 2,
        cache_creation_tokens: 1,
      }),
    ]);
  });

  test("takes a reported total over the sum", () => {
    expect(usageOf('{"usage":{"m":{"prompt_tokens":1,"total_tokens":9}}}')).toEqual([
      row("m", { prompt_tokens: 1, total_tokens: 9 }),
    ]);
    expect(usageOf('{"usage":{"m":{"prompt_tokens":1,"total_tokens":0}}}')).toEqual([
      row("m", { prompt_tokens: 1, total_tokens: 1 }),
    ]);
  });

  test("holds whole numbers the columns can take, whatever was sent", () => {
    expect(
      usageOf(`{"usage":{"m":{"prompt_tokens":-5,"completion_tokens":1e400,"requests":2.9,"total_tokens":"seven",
        "cache_read_input_tokens":true,"cache_creation_input_tokens":NaN}}}`),
    ).toEqual([
      row("m", { completion_tokens: Number.MAX_SAFE_INTEGER, total_tokens: Number.MAX_SAFE_INTEGER, requests: 2 }),
    ]);
    expect(
      usageOf('{"usage":{"m":{"prompt_tokens":9007199254740993,"input_tokens":18446744073709551616}}}')[0]
        ?.prompt_tokens,
    ).toBe(Number.MAX_SAFE_INTEGER);
  });

  test.each([
    "{}",
    '{"usage":{}}',
    '{"usage":null}',
    '{"usage":[1]}',
    '{"usage":{"a":1,"b":null,"c":[]}}',
    '{"other":"usage"}',
    "null",
  ])("%s has none", (summary) => {
    expect(usageOf(summary)).toEqual([]);
  });

  test("keeps a model without any tokens", () => {
    expect(usageOf('{"usage":{"free":{"prompt_tokens":0},"empty":{}}}')).toEqual([row("free", {}), row("empty", {})]);
  });

  test("of repeated keys the last counts", () => {
    expect(usageOf('{"usage":{"m":{"requests":1},"m":{"requests":2,"requests":3}}}')).toEqual([
      row("m", { requests: 3 }),
    ]);
  });

  test("a model may have any name", () => {
    expect(usageOf('{"usage":{"__proto__":{"requests":1,"constructor":2}}}')).toEqual([
      row("__proto__", { requests: 1 }),
    ]);
  });
});

describe("usage of a trace", () => {
  test("climbs to the parents that are there", () => {
    const usage = rolledUp(
      [
        { id: "leaf", parent_id: "mid", usage: [row("a", { requests: 1, prompt_tokens: 2 })] },
        { id: "root", parent_id: null, usage: [row("b", { requests: 1 })] },
        { id: "mid", parent_id: "root", usage: [row("a", { requests: 1, total_tokens: 5 })] },
        { id: "stray", parent_id: "gone", usage: [] },
      ],
      addUsage,
    );
    expect(usage.get("leaf")).toEqual([row("a", { requests: 1, prompt_tokens: 2 })]);
    expect(usage.get("mid")).toEqual([row("a", { requests: 2, prompt_tokens: 2, total_tokens: 5 })]);
    expect(usage.get("root")).toEqual([
      row("b", { requests: 1 }),
      row("a", { requests: 2, prompt_tokens: 2, total_tokens: 5 }),
    ]);
    expect(usage.get("stray")).toEqual([]);
  });

  test("survives circles and very long chains", () => {
    const one = [row("m", { requests: 1 })];
    const circle = rolledUp(
      [
        { id: "a", parent_id: "b", usage: one },
        { id: "b", parent_id: "a", usage: one },
        { id: "self", parent_id: "self", usage: one },
      ],
      addUsage,
    );
    expect([...circle.values()]).toEqual([one, one, one]);
    const chain = Array.from({ length: 50_000 }, (_, index) => ({
      id: String(index),
      parent_id: String(index - 1),
      usage: one,
    }));
    expect(rolledUp(chain, addUsage).get("0")).toEqual([row("m", { requests: 50_000 })]);
  });
});
