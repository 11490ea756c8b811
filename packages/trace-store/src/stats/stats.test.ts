import { parseTime } from "@heddle/trace-model";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import type { CallStatsRequest } from "./stats.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
let store: TraceStore;
const projectId = newProject();
const us = (text: string) => parseTime(text) ?? 0n;
const usage = (model: string, inputTokens: number, completionTokens: number) =>
  `{"usage":{"${model}":{"input_tokens":${inputTokens},"completion_tokens":${completionTokens},"requests":1}}}`;

function lasting(
  id: string,
  started: string,
  ms: number,
  more: { summary?: string; exception?: string; parent_id?: string } = {},
) {
  const startedAt = us(started);
  const { parent_id, ...end } = more;
  return completePart(
    { project_id: projectId, id, started_at: startedAt, op_name: "op", parent_id },
    { ended_at: startedAt + BigInt(ms) * 1000n, ...end },
  );
}

beforeAll(async () => {
  store = await db.open();
  await store.ingest([
    lasting("a", "2026-04-10T09:00:00Z", 100, { summary: usage("gpt", 10, 1) }),
    lasting("b", "2026-04-10T09:59:59.999999Z", 200, { summary: usage("gpt", 20, 2), exception: "boom" }),
    lasting("c", "2026-04-10T09:30:00Z", 400, { summary: usage("mini", 5, 5), parent_id: "a" }),
    lasting("d", "2026-04-10T11:00:00Z", 50),
    startPart({ project_id: projectId, id: "e", started_at: us("2026-04-10T09:10:00Z") }),
    lasting("before", "2026-04-10T08:59:59.999999Z", 1),
    lasting("after", "2026-04-10T12:00:00Z", 1),
  ]);
});
afterAll(() => db.drop());

const stats = (more: Partial<CallStatsRequest>) =>
  store.calls.callStats({
    project_id: projectId,
    start: us("2026-04-10T09:00:00Z"),
    end: us("2026-04-10T12:00:00Z"),
    granularity: 3600,
    ...more,
  });

describe("statistics of calls", () => {
  it("come per bucket, with nothing where there was nothing", async () => {
    const { call_buckets, usage_buckets, granularity, timezone } = await stats({
      call_metrics: [
        { metric: "latency_ms", aggregations: ["sum", "avg", "min", "max", "count"], percentiles: [50, 99.5] },
        { metric: "error_count", aggregations: ["sum", "count_true", "count_false"] },
        { metric: "call_count" },
      ],
    });
    expect({ granularity, timezone, usage_buckets }).toEqual({ granularity: 3600, timezone: "UTC", usage_buckets: [] });
    expect(call_buckets).toEqual([
      {
        timestamp: "2026-04-10T09:00:00.000000Z",
        count: 4,
        sum_latency_ms: 700,
        avg_latency_ms: expect.closeTo(700 / 3),
        min_latency_ms: 100,
        max_latency_ms: 400,
        count_latency_ms: 3,
        p50_latency_ms: 200,
        "p99.5_latency_ms": expect.closeTo(398),
        sum_error_count: 1,
        count_true_error_count: 1,
        count_false_error_count: 3,
        sum_call_count: 4,
      },
      {
        timestamp: "2026-04-10T10:00:00.000000Z",
        count: 0,
        sum_latency_ms: 0,
        avg_latency_ms: 0,
        min_latency_ms: null,
        max_latency_ms: null,
        count_latency_ms: 0,
        p50_latency_ms: null,
        "p99.5_latency_ms": null,
        sum_error_count: 0,
        count_true_error_count: 0,
        count_false_error_count: 0,
        sum_call_count: 0,
      },
      expect.objectContaining({ timestamp: "2026-04-10T11:00:00.000000Z", count: 1, sum_latency_ms: 50 }),
    ]);
  });

  it("honour the filter", async () => {
    const callMetrics = [{ metric: "call_count" } as const];
    const counts = async (filter: CallStatsRequest["filter"]) =>
      (await stats({ call_metrics: callMetrics, filter })).call_buckets.map(({ count }) => count);
    expect(await counts({ trace_roots_only: true })).toEqual([3, 0, 1]);
    expect(await counts({ call_ids: ["a", "d"] })).toEqual([1, 0, 1]);
    expect(await counts({ op_names: ["op"], parent_ids: ["a"] })).toEqual([1, 0, 0]);
  });

  it("fall into the buckets of the time zone", async () => {
    const request = {
      start: us("2026-03-28T00:00:00Z"),
      end: us("2026-03-31T00:00:00Z"),
      granularity: 86_400,
      timezone: "Europe/Berlin",
    };
    const project = newProject();
    const starts = [
      "2026-03-28T22:59:59Z",
      "2026-03-28T23:00:00Z",
      "2026-03-29T21:59:59Z",
      "2026-03-29T22:00:00Z",
      "2026-03-30T12:00:00Z",
    ];
    await store.ingest(
      starts.map((text, index) => completePart({ project_id: project, id: `c${index}`, started_at: us(text) })),
    );
    const { call_buckets } = await stats({ ...request, project_id: project, call_metrics: [{ metric: "call_count" }] });
    expect(call_buckets.map(({ timestamp, count }) => [timestamp.slice(0, 16), count])).toEqual([
      ["2026-03-27T23:00", 1],
      ["2026-03-28T23:00", 2],
      ["2026-03-29T22:00", 2],
      ["2026-03-30T22:00", 0],
    ]);
  });
});

describe("statistics of usage", () => {
  it("come per bucket and model", async () => {
    const { usage_buckets, call_buckets } = await stats({
      usage_metrics: [
        { metric: "input_tokens", aggregations: ["sum", "max"], percentiles: [50] },
        { metric: "total_tokens" },
      ],
    });
    expect(call_buckets).toEqual([]);
    expect(usage_buckets).toHaveLength(6);
    expect(usage_buckets.slice(0, 3)).toEqual([
      {
        timestamp: "2026-04-10T09:00:00.000000Z",
        model: "gpt",
        count: 2,
        sum_input_tokens: 30,
        max_input_tokens: 20,
        p50_input_tokens: 15,
        sum_total_tokens: 33,
      },
      {
        timestamp: "2026-04-10T09:00:00.000000Z",
        model: "mini",
        count: 1,
        sum_input_tokens: 5,
        max_input_tokens: 5,
        p50_input_tokens: 5,
        sum_total_tokens: 10,
      },
      {
        timestamp: "2026-04-10T10:00:00.000000Z",
        model: "gpt",
        count: 0,
        sum_input_tokens: 0,
        max_input_tokens: null,
        p50_input_tokens: null,
        sum_total_tokens: 0,
      },
    ]);
  });
});

it("times that cannot be stored are refused by name", async () => {
  await expect(stats({ end: us("2299-12-31T23:59:59Z") + 1_000_000n })).rejects.toMatchObject({
    code: "invalid",
    loc: ["end"],
  });
});
