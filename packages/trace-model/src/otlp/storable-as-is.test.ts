import * as fc from "fast-check";
import { expect, test } from "vitest";
import { storable } from "@heddle/exact-json";
import { statedKind } from "../calls/kind.js";
import { findRefs } from "../refs/find.js";
import { usageOf } from "../usage/usage.js";
import { decodeTraces, scanTraces } from "./export.js";
import { runSteps } from "../steps.js";
import { spansToCalls } from "./to-calls.js";
import type { SpanCall } from "./to-calls.js";

type Value = Record<string, unknown>;

/** The call of one span, by way of the JSON encoding, which can carry every text there is. */
function callOf(attributes: Record<string, Value>, more: object = {}): SpanCall {
  const span = {
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    spanId: "00f067aa0ba902b7",
    name: "chat",
    attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })),
    ...more,
  };
  const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
  const traces = runSteps(decodeTraces(scanTraces(Buffer.from(body), "application/json")));
  const { calls, rejected } = runSteps(spansToCalls(traces, { project_id: "e/p" }));
  expect(rejected).toEqual([]);
  const [call] = calls;
  if (call === undefined) throw new Error("no call");
  return call;
}

const text = (stringValue: string): Value => ({ stringValue });
const ref = "weave:///e/p/object/x:abc";

test("a span of texts and numbers is marked as storable as it is", () => {
  const { start, end } = callOf({
    "gen_ai.prompt.0.content": text('Say "weave:///e/p/call/1",\nNaN and \\u00e9 {é}'),
    "gen_ai.completion": text('[{"role":"assistant","n":1.5}]'),
    "gen_ai.usage.input_tokens": { intValue: 812 },
    temperature: { doubleValue: 0.7 },
    greatest: { intValue: "9223372036854775807" },
  });
  expect([start.storableAsIs, end.storableAsIs]).toEqual([true, true]);
});

test.each<[string, Record<string, Value>, object?]>([
  ["a ref", { input: text(ref) }],
  ["a ref in JSON", { input: text(`{"a":"${ref}"}`) }],
  ["a ref in a list", { output: { arrayValue: { values: [text(ref)] } } }],
  ["a ref of an event", {}, { events: [{ name: "gen_ai.choice", attributes: [{ key: "x", value: text(ref) }] }] }],
  ["a number beyond double", { input: text("[1e999]") }],
  ["an integer beyond 64 bits", { n: { intValue: "99999999999999999999" } }],
  ["half a character", { input: text("\ud800") }],
  ["half a character, escaped in JSON", { input: text(String.raw`["\ud800"]`) }],
  ["half a character in the name", {}, { name: "\udc00" }],
])("a span with %s is not", (_, attributes, more) => {
  const { start, end } = callOf(attributes, more);
  expect([start.storableAsIs, end.storableAsIs]).toEqual([undefined, undefined]);
});

test("what is marked as known of a span is what reading its texts tells", () => {
  const keys = fc.constantFrom(
    ..."input output gen_ai.prompt gen_ai.request.model wandb.attributes other".split(" "),
    ..."kind weave.kind weave.span.kind openinference.span.kind gen_ai.operation.name".split(" "),
  );
  const counts = fc.constantFrom(
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "gen_ai.usage.output_tokens",
    "llm.token_count.completion",
    "llm.usage.total_tokens",
  );
  const texts = fc.oneof(
    fc.array(fc.nat(0xffff), { maxLength: 10 }).map((units) => String.fromCharCode(...units)),
    fc.constantFrom("TOOL", "chat", '{"kind":"agent"}'),
    fc.constantFrom(ref, "weave:", `["${ref}"]`, "[1e999]", '{"a":NaN}', '{"model":"m"}', String.raw`{"\ud800":1}`),
    fc.array(fc.oneof(fc.string(), fc.double()), { maxLength: 3 }).map((items) => JSON.stringify(items)),
  );
  const value: fc.Arbitrary<Value> = fc.oneof(
    texts.map(text),
    fc.bigInt({ min: -(10n ** 20n) + 1n, max: 10n ** 20n - 1n }).map((whole) => ({ intValue: String(whole) })),
    fc.double().map((doubleValue) => ({ doubleValue: String(doubleValue) })),
    texts.map((item) => ({ arrayValue: { values: [text(item)] } })),
  );
  const count: fc.Arbitrary<Value> = fc.oneof(
    fc.integer({ min: -3 }).map((intValue) => ({ intValue })),
    fc.maxSafeInteger().map((intValue) => ({ intValue })),
    fc.constantFrom("0", "-0.5", "2.5", "1e3", "many").map(text),
  );
  fc.assert(
    fc.property(fc.dictionary(keys, value), fc.dictionary(counts, count), (attributes, usage) => {
      const { start, end } = callOf({ ...attributes, ...usage });
      expect(end.usage).toEqual(usageOf(end.summary));
      const stated = statedKind(start.attributes) ?? "";
      expect(start.kind ?? stated).toBe(stated);
      expect(end.storableAsIs).toBe(start.storableAsIs);
      if (!start.storableAsIs) return;
      const output = end.output ?? "null";
      for (const json of [start.attributes, start.inputs, output, end.summary]) {
        expect(storable(json)).toEqual({ text: json });
      }
      expect([...findRefs(start.inputs), ...findRefs(output)]).toEqual([]);
    }),
    { numRuns: 200 },
  );
});
