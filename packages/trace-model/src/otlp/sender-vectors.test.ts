import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { decodeTraces, scanTraces } from "./export.js";
import { runSteps } from "../steps.js";
import { spansToCalls } from "./to-calls.js";

interface Vector {
  /** With the version that wrote the span. */
  sender: string;
  /** Whether the span was recorded as the instrumentation sent it, or written after its source. */
  origin: "captured" | "source";
  spans: Array<{
    name: string;
    attributes: Record<string, unknown>;
    events?: Array<{ name: string; attributes: Record<string, unknown> }>;
    /** Message of an error status. */
    error?: string;
    /** What the call has of it; nothing else of these. */
    expected: Expected;
  }>;
}

interface Expected {
  inputs: unknown;
  output?: unknown;
  model?: unknown;
  kind?: unknown;
  agent?: unknown;
  tool?: unknown;
  thread_id?: string;
  /** Default: the name of the span, where no op can have it. */
  display_name?: string;
  exception?: string;
}

const file = join(import.meta.dirname, "../../test/sender-vectors.json");
const vectors = JSON.parse(readFileSync(file, "utf8")) as Vector[];
const all = vectors.flatMap(({ sender, spans }) => spans.map((span) => [`${sender}: ${span.name}`, span] as const));

function anyValue(value: unknown): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return Number.isInteger(value) ? { intValue: value } : { doubleValue: value };
}

const attributes = (values: Record<string, unknown>) =>
  Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }));

test.each(all)("a span of %s has its inputs, output, model, kind, agent and thread", (_, { expected, ...sent }) => {
  const span = {
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    spanId: "00f067aa0ba902b7",
    name: sent.name,
    startTimeUnixNano: "1775811600000000000",
    endTimeUnixNano: "1775811601000000000",
    attributes: attributes(sent.attributes),
    events: sent.events?.map((event) => ({ name: event.name, attributes: attributes(event.attributes) })),
    status: sent.error === undefined ? {} : { code: 2, message: sent.error },
  };
  const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
  const traces = runSteps(decodeTraces(scanTraces(Buffer.from(body), "application/json")));
  const { calls, rejected } = runSteps(spansToCalls(traces, { project_id: "acme/demo" }));
  expect(rejected).toEqual([]);
  const [call] = calls;
  const { model, kind, agent, tool } = JSON.parse(call?.start.attributes ?? "{}") as Record<string, unknown>;
  const actual: Expected = {
    inputs: JSON.parse(call?.start.inputs ?? "null") as unknown,
    output: JSON.parse(call?.end.output ?? "null") ?? undefined,
    model,
    kind,
    agent,
    tool,
    thread_id: call?.start.thread_id,
    display_name: call?.start.display_name,
    exception: call?.end.exception,
  };
  const shownName = call?.opObjectId === sent.name ? undefined : sent.name;
  expect(actual).toEqual({ display_name: shownName, ...expected });
  expect(call?.start.op_name).toBe(sent.name);
});
