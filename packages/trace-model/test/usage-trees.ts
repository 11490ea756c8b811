import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CallPart } from "../src/calls/part.js";
import { decodeTraces, scanTraces } from "../src/otlp/export.js";
import { runSteps } from "../src/steps.js";
import { spansToCalls } from "../src/otlp/to-calls.js";
import type { UsageRow } from "../src/usage/usage.js";

/** Calls as a client sends them, children first, and what each used itself. */
export interface GoldenTree {
  sender: string;
  what: string;
  calls: Array<SentCall | SentSpan>;
  /** By id; counts of cached tokens are 0. */
  own: Record<string, Array<Omit<UsageRow, "cache_read_tokens" | "cache_creation_tokens">>>;
}

interface SentCall {
  id: string;
  parent_id: string;
  attributes: object;
  summary?: object;
  exception?: string;
  running?: true;
}

interface SentSpan {
  id: string;
  parent_id: string;
  name: string;
  /** Attributes. */
  span: Record<string, string | number>;
  error?: string;
}

const file = join(import.meta.dirname, "usage-trees.json");
export const goldenTrees = JSON.parse(readFileSync(file, "utf8")) as GoldenTree[];

/** The parts of a tree, in the order of its calls, and the ids that they have. */
export function partsOf(tree: GoldenTree, projectId: string, startedAt: bigint) {
  const hex = (text: string, digits: number) => Buffer.from(text).toString("hex").padStart(digits, "0").slice(-digits);
  const trace = hex(`${projectId}${tree.sender}${tree.what}`, 32);
  const ids = new Map(
    tree.calls.map(({ id }) => [id, "span" in (tree.calls[0] ?? {}) ? hex(id, 16) : `${trace}-${id}`]),
  );
  const parts = tree.calls.map((call, index): CallPart => {
    // Parents come last, and started first.
    const time = startedAt + BigInt(tree.calls.length - index) * 1000n;
    if ("span" in call) return partOfSpan(call, { trace, hex, projectId, time });
    const start = {
      project_id: projectId,
      id: ids.get(call.id) ?? "",
      trace_id: trace,
      parent_id: ids.get(call.parent_id),
      op_name: call.id,
      started_at: time,
      attributes: JSON.stringify(call.attributes),
      inputs: "{}",
    };
    if (call.running) return { part: "start", start };
    const summary = JSON.stringify(call.summary ?? {});
    const end = { project_id: projectId, id: start.id, ended_at: time + 1000n, summary, exception: call.exception };
    return { part: "complete", start, end };
  });
  return { trace_id: trace, ids, parts };
}

function partOfSpan(
  { id, parent_id, name, span, error }: SentSpan,
  context: { trace: string; hex: (text: string, digits: number) => string; projectId: string; time: bigint },
): CallPart {
  const { trace, hex, projectId, time } = context;
  const attributes = Object.entries(span).map(([key, value]) => ({
    key,
    value: typeof value === "string" ? { stringValue: value } : { intValue: value },
  }));
  const sent = {
    traceId: trace,
    spanId: hex(id, 16),
    ...(parent_id !== "" && { parentSpanId: hex(parent_id, 16) }),
    name,
    startTimeUnixNano: String(time * 1000n),
    endTimeUnixNano: String(time * 1000n + 1_000_000n),
    attributes,
    status: error === undefined ? {} : { code: 2, message: error },
  };
  const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [sent] }] }] });
  const traces = runSteps(decodeTraces(scanTraces(Buffer.from(body), "application/json")));
  const [call] = runSteps(spansToCalls(traces, { project_id: projectId })).calls;
  if (call === undefined) throw new Error(`the span ${name} is not a call`);
  return { part: "complete", start: call.start, end: call.end };
}
