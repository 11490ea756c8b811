import { describe, expect, test } from "vitest";
import { mergeParts } from "./merge.js";
import { withOtelSpan } from "./otel-span.js";
import type { CallEnd, CallStart } from "./part.js";
import { callSizeBytes } from "./size.js";
import { latencyOf, statusOf, summaryWithWeave, traceNameOf, weaveBlock, wholeMilliseconds } from "./summary.js";

const start: CallStart = {
  project_id: "acme/demo",
  id: "1",
  trace_id: "t",
  op_name: "answer",
  started_at: 1_000_000n,
  attributes: "{}",
  inputs: '{"q":1.0}',
};
const end: CallEnd = { project_id: "acme/demo", id: "1", ended_at: 2_250_999n, output: '"hi"', summary: "{}" };

describe("parts of a call", () => {
  test("meet in either order", () => {
    for (const parts of [
      [
        { part: "start", start },
        { part: "end", end },
      ],
      [
        { part: "end", end },
        { part: "start", start },
      ],
      [{ part: "complete", start, end }],
    ] as const) {
      expect(mergeParts(undefined, parts)).toEqual({ sides: { start, end }, start_changed: true, end_changed: true });
    }
  });

  test("a half replaces only its own side", () => {
    const renamed = { ...start, display_name: "new" };
    expect(mergeParts({ start, end }, [{ part: "start", start: renamed }])).toEqual({
      sides: { start: renamed, end },
      start_changed: true,
      end_changed: false,
    });
    const late = { ...end, output: "2" };
    expect(
      mergeParts({ start }, [
        { part: "end", end },
        { part: "end", end: late },
      ]),
    ).toEqual({
      sides: { start, end: late },
      start_changed: false,
      end_changed: true,
    });
  });

  test("sent again change nothing, however absence is spelled", () => {
    const stored = {
      start: { ...start, parent_id: "", thread_id: undefined, display_name: "" },
      end: { ...end, exception: "" },
    };
    const again = mergeParts(stored, [{ part: "complete", start: { ...start }, end: { ...end, started_at: 5n } }]);
    expect(again).toEqual({ sides: stored, start_changed: false, end_changed: false });
  });

  test("an output of null is no output", () => {
    const { output: _, ...silent } = end;
    expect(mergeParts({ end: { ...end, output: "null" } }, [{ part: "end", end: silent }]).end_changed).toBe(false);
  });

  test.each([
    ["started_at", { started_at: 1_000_001n }],
    ["op_name", { op_name: "other" }],
    ["trace_id", { trace_id: "u" }],
    ["parent_id", { parent_id: "p" }],
    ["thread_id", { thread_id: "x" }],
    ["turn_id", { turn_id: "x" }],
    ["display_name", { display_name: "x" }],
    ["wb_user_id", { wb_user_id: "x" }],
    ["wb_run_id", { wb_run_id: "x" }],
    ["wb_run_step", { wb_run_step: 0 }],
    ["expire_at", { expire_at: 1n }],
    ["source", { source: "otel" }],
    ["inputs", { inputs: '{"q":1}' }],
    ["attributes", { attributes: "{ }" }],
  ])("a changed %s is a change of the start", (_, change) => {
    expect(mergeParts({ start, end }, [{ part: "start", start: { ...start, ...change } }]).start_changed).toBe(true);
  });

  test.each([
    ["ended_at", { ended_at: 3n }],
    ["output", { output: '"hi" ' }],
    ["summary", { summary: '{"a":1}' }],
    ["exception", { exception: "x" }],
    ["wb_run_step_end", { wb_run_step_end: 1 }],
  ])("a changed %s is a change of the end", (_, change) => {
    expect(mergeParts({ start, end }, [{ part: "end", end: { ...end, ...change } }]).end_changed).toBe(true);
  });
});

describe("the state of a call", () => {
  const failed = '{"status_counts":{"success":1,"error":2}}';
  test.each([
    [{ ended_at: 1n, summary: "{}" }, "success"],
    [{ ended_at: 1n, exception: "" }, "success"],
    [{ ended_at: null, summary: "{}" }, "running"],
    [{ ended_at: 1n, exception: "boom", summary: failed }, "error"],
    [{ exception: "boom" }, "error"],
    [{ ended_at: 1n, summary: failed }, "descendant_error"],
    [{ summary: failed }, "running"],
    [{ ended_at: 1n, summary: '{"status_counts":{"error":0}}' }, "success"],
    [{ ended_at: 1n, summary: '{"status_counts":null,"x":"status_counts"}' }, "success"],
  ] as const)("%o is %s", (call, status) => {
    expect(statusOf(call)).toBe(status);
  });

  test("latency is whole milliseconds", () => {
    expect(latencyOf(1_000_000n, 2_250_999n)).toBe(1_250_999n);
    expect(latencyOf(1n, null)).toBeUndefined();
    expect([1_250_999n, -1_250_999n, 999n].map(wholeMilliseconds)).toEqual([1250, -1250, 0]);
  });

  test("its name is the display name, else the op's", () => {
    expect(traceNameOf({ op_name: "weave:///e/p/op/answer:abc", display_name: "" })).toBe("answer");
    expect(traceNameOf({ op_name: "answer", display_name: "Mine" })).toBe("Mine");
  });
});

describe("summary.weave", () => {
  const call = { op_name: "weave:///e/p/op/answer:abc", status: "success", latency_us: 1_250_999n } as const;

  test("is put into the summary without touching the rest", () => {
    expect(summaryWithWeave('{"usage": {"m":{"prompt_tokens":1.0}} }', weaveBlock(call))).toBe(
      '{"usage": {"m":{"prompt_tokens":1.0}} ,"weave":{"status":"success","latency_ms":1250,"trace_name":"answer"}}',
    );
    expect(summaryWithWeave("{}", weaveBlock({ ...call, latency_us: null, status: "running" }))).toBe(
      '{"weave":{"status":"running","latency_ms":null,"trace_name":"answer"}}',
    );
  });

  test("overrides what a client sent key by key", () => {
    expect(
      summaryWithWeave(
        '{"weave":{"status":"fake","own":1.0},"b":1}',
        weaveBlock({ ...call, display_name: "Mine" }, { costs: "{}" }),
      ),
    ).toBe(
      '{"weave":{"status":"success","own":1.0,"latency_ms":1250,"trace_name":"Mine","display_name":"Mine","costs":{}},"b":1}',
    );
    expect(summaryWithWeave('{"weave":"text"}', { status: '"success"' })).toBe('{"weave":{"status":"success"}}');
  });
});

test("an OpenTelemetry span stands in the attributes as it was sent", () => {
  expect(withOtelSpan('{"a": 1.0}', '{"name":"x"}')).toBe('{"a": 1.0,"otel_span":{"name":"x"}}');
});

test("storage size counts bytes, not characters", () => {
  expect(callSizeBytes({ attributes: "{}", inputs: '{"a":"é"}', summary: "{}" })).toBe(14);
});
