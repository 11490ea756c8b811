import { afterAll, beforeAll, expect, it } from "vitest";
import { completePart, newProject, nowUs, startPart } from "../../test/call-parts.js";
import { MemoryMeter } from "../../test/memory-meter.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
let store: TraceStore;
const projectId = newProject();
const usage = (entries: Record<string, Record<string, number>>) => ({ summary: JSON.stringify({ usage: entries }) });
const uncosted = {
  prompt_tokens_total_cost: null,
  completion_tokens_total_cost: null,
  cache_read_input_tokens_total_cost: null,
  cache_creation_input_tokens_total_cost: null,
};
const counts = (requests: number, promptTokens: number, completionTokens: number, totalTokens: number) => ({
  requests,
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: totalTokens,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
  ...uncosted,
});

const counted = (n: number) => counts(n, n, 0, n);

beforeAll(async () => {
  store = await db.open();
  await store.ingest([
    completePart(
      { project_id: projectId, id: "root", trace_id: "t1" },
      usage({ gpt: { prompt_tokens: 1, completion_tokens: 2, requests: 1 } }),
    ),
    completePart(
      { project_id: projectId, id: "child", trace_id: "t1", parent_id: "root" },
      usage({ gpt: { input_tokens: 10, total_tokens: 99, requests: 1 } }),
    ),
    completePart(
      { project_id: projectId, id: "leaf", trace_id: "t1", parent_id: "child" },
      usage({ mini: { output_tokens: 7 } }),
    ),
    startPart({ project_id: projectId, id: "running", trace_id: "t1", parent_id: "root" }),
    completePart(
      { project_id: projectId, id: "alone", trace_id: "t2" },
      usage({ gpt: { prompt_tokens: 5 }, none: { prompt_tokens: 0 } }),
    ),
  ]);
});
afterAll(() => db.drop());

it("a call is charged with its descendants, per model", async () => {
  expect(
    await store.calls.callsUsage({ project_id: projectId, call_ids: ["root", "child", "alone", "missing"] }),
  ).toEqual({
    call_usage: {
      root: { gpt: counts(2, 11, 2, 102), mini: counts(0, 0, 7, 7) },
      child: { gpt: counts(1, 10, 0, 99), mini: counts(0, 0, 7, 7) },
      alone: { gpt: counts(0, 5, 0, 5), none: counts(0, 0, 0, 0) },
      missing: {},
    },
    unfinished_call_ids: ["running"],
  });
});

it("of a trace only what matches is charged", async () => {
  const query = { $expr: { $not: [{ $eq: [{ $getField: "id" }, { $literal: "child" }] }] } };
  expect(await store.calls.traceUsage({ project_id: projectId, filter: { trace_ids: ["t1"] }, query })).toEqual({
    call_usage: {
      root: { gpt: counts(1, 1, 2, 3) },
      leaf: { mini: counts(0, 0, 7, 7) },
      running: {},
    },
    unfinished_call_ids: ["running"],
  });
});

it("costs without prices are nothing", async () => {
  const { call_usage } = await store.calls.callsUsage({
    project_id: projectId,
    call_ids: ["alone"],
    include_costs: true,
  });
  expect(call_usage["alone"]?.["gpt"]).toMatchObject({ prompt_tokens_total_cost: 0, completion_tokens_total_cost: 0 });
});

it("more calls than the limit are too many", async () => {
  await expect(store.calls.callsUsage({ project_id: projectId, call_ids: ["root"], limit: 3 })).rejects.toMatchObject({
    code: "too_large",
  });
  await expect(store.calls.traceUsage({ project_id: projectId, limit: 4 })).rejects.toMatchObject({
    code: "too_large",
  });
  await expect(store.calls.traceUsage({ project_id: projectId, limit: 0 })).rejects.toMatchObject({ code: "invalid" });
  expect(
    Object.keys(
      (await store.calls.callsUsage({ project_id: projectId, call_ids: ["root", "alone"], limit: 4 })).call_usage,
    ),
  ).toEqual(["root", "alone"]);
});

it("all of a trace is summed up, however large: each call is charged with all below it, and memory is reserved", async () => {
  const [many, projectId] = [20_001, newProject()];
  // A root with 100 calls below it, each with 200 that used one token.
  const parent = "multiIf(number = 0, '', number <= 100, '0', toString(1 + number % 100))";
  const used = (value: string) => `if(number <= 100, [], [${value}])`;
  const columns =
    "project_id, id, trace_id, parent_id, started_at, ended_at, latency_us, status, version, usage.model, ";
  const counts = [
    "requests",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
  ];
  await db.engine.command({
    sql: `INSERT INTO calls (${columns} ${counts.map((name) => `usage.${name}`).join(", ")})
      SELECT '${projectId}', toString(number), 't', ${parent}, now64(6), now64(6), 0, 'success', number + 1, ${used("'gpt'")},
      ${used("1")}, ${used("1")}, ${used("0")}, ${used("1")}, ${used("0")}, ${used("0")} FROM numbers(${many})`,
  });
  const meter = new MemoryMeter();
  const { call_usage } = await store.calls.traceUsage({ project_id: projectId }, { reserve: meter.reserve });
  expect(Object.keys(call_usage)).toHaveLength(many);
  expect(call_usage["0"]).toEqual({ gpt: counted(19_900) });
  expect(call_usage["7"]).toEqual({ gpt: counted(199) });
  expect(call_usage["20000"]).toEqual({ gpt: counted(1) });
  expect(meter.total).toBeGreaterThan(many * 600);
  const { usage_buckets } = await store.calls.callStats({
    project_id: projectId,
    start: nowUs() - 3_600_000_000n,
    usage_metrics: [{ metric: "total_tokens" }],
  });
  expect(usage_buckets.reduce((sum, bucket) => sum + Number(bucket["sum_total_tokens"]), 0)).toBe(19_900);
  const some = await store.calls.callsUsage({ project_id: projectId, call_ids: ["0"], limit: many });
  expect(some.call_usage["0"]).toEqual(call_usage["0"]);
});
