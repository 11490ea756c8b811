import { describe, expect, test } from "vitest";
import { withOtelSpan } from "./otel-span.js";
import { latencyOf, statusOf, summaryWithWeave, traceNameOf, weaveBlock, wholeMilliseconds } from "./summary.js";

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

test("the attributes hold an OpenTelemetry span as it was sent", () => {
  expect(withOtelSpan('{"a": 1.0}', '{"name":"x"}')).toBe('{"a": 1.0,"otel_span":{"name":"x"}}');
});
