import { afterAll, beforeAll, expect, it } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
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
