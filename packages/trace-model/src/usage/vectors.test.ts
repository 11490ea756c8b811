import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runSteps } from "../steps.js";
import { spansToCalls } from "../otlp/to-calls.js";
import { emptyResource, emptySpan, noAttributes } from "../otlp/traces.js";
import { usageSenders } from "./senders.js";
import { usageOf } from "./usage.js";
import type { UsageRow } from "./usage.js";

interface Vectors {
  /** Entries of `summary.usage`, as senders write them. */
  entries: Array<{ name: string; usage: object; expected: Omit<UsageRow, "model"> }>;
  /** Attributes of spans, with the entry that is made of them. */
  spans: Array<{ name: string; attributes: object; summary: object; expected: Omit<UsageRow, "model"> }>;
}

const file = join(import.meta.dirname, "../../test/usage-vectors.json");
const { entries, spans } = JSON.parse(readFileSync(file, "utf8")) as Vectors;

describe("usage means the same whoever sends it", () => {
  test.each(entries)("$name", ({ usage, expected }) => {
    expect(usageOf(JSON.stringify({ usage: { m: usage } }))).toEqual([{ model: "m", ...expected }]);
  });

  test.each(spans)("span: $name", ({ attributes, summary, expected }) => {
    const end = endOfSpan({ ...attributes, "gen_ai.request.model": "m" });
    expect(JSON.parse(end?.summary ?? "{}")).toEqual({ usage: { m: summary } });
    expect(end?.usage).toEqual([{ model: "m", ...expected }]);
    expect(usageOf(end?.summary ?? "{}")).toEqual(end?.usage);
  });

  test("no token is in two buckets", () => {
    for (const { expected } of [...entries, ...spans]) {
      expect(expected.cache_read_tokens + expected.cache_creation_tokens).toBeLessThanOrEqual(expected.prompt_tokens);
    }
  });

  test("a name has one meaning for all senders", () => {
    const meanings = new Map<string, unknown>();
    for (const [path, name] of Object.values(usageSenders).flatMap((sender) => Object.entries(sender))) {
      expect({ path, name: meanings.get(path) ?? name }).toEqual({ path, name });
      meanings.set(path, name);
    }
  });
});

function endOfSpan(values: Record<string, unknown>) {
  const attributes = noAttributes();
  for (const [key, value] of Object.entries(values)) {
    attributes.shape = attributes.shape.with(key);
    attributes.values.push(typeof value === "string" ? value : { json: JSON.stringify(value) });
  }
  const span = {
    ...emptySpan(),
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    span_id: "00f067aa0ba902b7",
    attributes,
  };
  const scopes = [{ name: "", version: "", spans: [span] }];
  const resources = [{ ...emptyResource(), scopes }];
  return runSteps(spansToCalls({ resources, rejected: [] }, { project_id: "acme/demo" })).calls[0]?.end;
}
