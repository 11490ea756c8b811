import { parseTime } from "@heddle/trace-model";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completePart, newProject } from "../../test/call-parts.js";
import { listCalls } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";
import type { Price } from "./price.js";

const us = (text: string) => parseTime(text) ?? 0n;

function listed(llmId: string, effective: string, costs: Partial<Price> = {}): Price {
  return {
    llm_id: llmId,
    provider_id: "openai",
    effective_date: us(effective),
    prompt_token_cost: 1,
    completion_token_cost: 2,
    cache_read_input_token_cost: 0.5,
    cache_creation_input_token_cost: 1.25,
    prompt_token_cost_unit: "USD",
    completion_token_cost_unit: "USD",
    created_at: us(effective),
    created_by: null,
    ...costs,
  };
}

const db = testDatabase();
const defaults = [listed("gpt", "2026-01-01"), listed("gpt", "2026-03-01", { prompt_token_cost: 10 })];
let store: TraceStore;
beforeAll(async () => {
  store = await db.open({ prices: defaults });
});
afterAll(() => db.drop());

const prices = { prompt_token_cost: 100, completion_token_cost: 200 };
const byId = (id: string) => ({ $expr: { $eq: [{ $getField: "id" }, { $literal: id }] } });

async function setPrice(projectId: string, llmId: string, effective: string, input: Partial<Price> = {}) {
  const costs = { [llmId]: { ...prices, effective_date: us(effective), ...input } };
  const [made] = await store.costs.create({ project_id: projectId, costs, created_by: "u1" });
  return made?.[0] ?? "";
}

function used(projectId: string, id: string, started: string, usage: Record<string, object>, parentId?: string) {
  const start = { project_id: projectId, id, trace_id: "t", parent_id: parentId, started_at: us(started) };
  return completePart(start, { ended_at: us(started) + 1000n, summary: JSON.stringify({ usage }) });
}

/** 6 uncached, 3 read from the cache, 1 written to it, 4 produced. */
const tokens = { prompt_tokens: 10, completion_tokens: 4, cache_read_input_tokens: 3, cache_creation_input_tokens: 1 };

async function costsOf(projectId: string, id: string): Promise<Record<string, Record<string, unknown>> | undefined> {
  const call = await store.calls.read({ project_id: projectId, id, include_costs: true });
  return call?.costs === undefined ? undefined : (JSON.parse(call.costs) as Record<string, Record<string, unknown>>);
}

describe("prices of a project", () => {
  it("read back as they were set, also from another store, and no longer after a purge", async () => {
    const projectId = newProject();
    const cost = 1.234567890123e-7;
    const id = await setPrice(projectId, "gpt", "2026-04-01", { prompt_token_cost: cost });
    const other = await setPrice(projectId, "mini", "2026-04-02");
    const expected = {
      id,
      llm_id: "gpt",
      provider_id: "default",
      effective_date: us("2026-04-01"),
      prompt_token_cost: cost,
      completion_token_cost: 200,
      cache_read_input_token_cost: 0,
      cache_creation_input_token_cost: 0,
      prompt_token_cost_unit: "USD",
      completion_token_cost_unit: "USD",
    };
    const restarted = await db.open();
    expect((await restarted.costs.query({ project_id: projectId }))[0]).toEqual(expected);
    expect(await store.costs.query({ project_id: newProject() })).toEqual([]);
    await store.costs.purge({ project_id: newProject(), query: byId(id) });
    expect(await store.costs.query({ project_id: projectId, fields: ["id"] })).toEqual([{ id }, { id: other }]);
    await store.costs.purge({ project_id: projectId, query: byId(id) });
    await store.costs.purge({ project_id: projectId, query: byId(id) });
    expect(await restarted.costs.query({ project_id: projectId, fields: ["llm_id"] })).toEqual([{ llm_id: "mini" }]);
  });

  it("are found by any of their fields, sorted and in pages", async () => {
    const projectId = newProject();
    for (const [llmId, cost] of [
      ["a", 3],
      ["b", 1],
      ["c", 2],
    ] as const)
      await setPrice(projectId, llmId, `2026-04-0${cost}`, { prompt_token_cost: cost });
    const names = async (request: object) =>
      (await store.costs.query({ project_id: projectId, fields: ["llm_id"], ...request })).map(({ llm_id }) => llm_id);
    expect(await names({})).toEqual(["a", "b", "c"]);
    expect(await names({ sort_by: [{ field: "prompt_token_cost", direction: "desc" }], limit: 2 })).toEqual(["a", "c"]);
    expect(await names({ sort_by: [{ field: "effective_date", direction: "asc" }], offset: 1 })).toEqual(["c", "a"]);
    const where = (op: string, field: string, literal: unknown) => ({
      query: { $expr: { [op]: [{ $getField: field }, { $literal: literal }] } },
    });
    expect(await names(where("$gte", "prompt_token_cost", 2))).toEqual(["a", "c"]);
    expect(await names(where("$lt", "effective_date", "2026-04-02T00:00:00Z"))).toEqual(["b"]);
    expect(await names(where("$eq", "llm_id", "x' OR 1=1 --"))).toEqual([]);
  });

  it.each<[name: string, costs: Record<string, object>, loc: unknown[]]>([
    ["negative", { m: { ...prices, prompt_token_cost: -1 } }, ["costs", "m", "prompt_token_cost"]],
    ["not a number", { m: { ...prices, completion_token_cost: NaN } }, ["costs", "m", "completion_token_cost"]],
    ["absurd", { m: { ...prices, prompt_token_cost: 1001 } }, ["costs", "m", "prompt_token_cost"]],
    ["of no model", { "": prices }, ["costs", ""]],
  ])("that are %s are refused, and none of the request is stored", async (_name, costs, loc) => {
    const projectId = newProject();
    const request = { project_id: projectId, costs: { good: prices, ...costs } as Record<string, typeof prices> };
    await expect(store.costs.create(request)).rejects.toMatchObject({ code: "invalid", loc });
    expect(await store.costs.query({ project_id: projectId })).toEqual([]);
  });

  it("are limited in number", async () => {
    const projectId = newProject();
    const many = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${from + index}`, prices]));
    await store.costs.create({ project_id: projectId, costs: many(0, 9999) });
    await store.costs.create({ project_id: projectId, costs: many(9999, 1) });
    await expect(store.costs.create({ project_id: projectId, costs: { m: prices } })).rejects.toMatchObject({
      code: "invalid",
      loc: ["costs"],
    });
  });
});

describe("costs of a call", () => {
  it("bill each token once, by the price in effect when it started", async () => {
    const projectId = newProject();
    await store.ingest([
      used(projectId, "before", "2025-01-01", { gpt: tokens }),
      used(projectId, "old", "2026-02-01", { gpt: tokens, unpriced: tokens }),
      used(projectId, "new", "2026-03-02", { gpt: { ...tokens, requests: 2 } }),
      used(projectId, "none", "2026-03-02", { unpriced: tokens }),
    ]);
    expect(await costsOf(projectId, "old")).toEqual({
      gpt: {
        prompt_tokens: 10,
        completion_tokens: 4,
        requests: 0,
        total_tokens: 14,
        cache_read_input_tokens: 3,
        cache_creation_input_tokens: 1,
        prompt_tokens_total_cost: 6,
        completion_tokens_total_cost: 8,
        cache_read_input_tokens_total_cost: 1.5,
        cache_creation_input_tokens_total_cost: 1.25,
        prompt_token_cost: 1,
        completion_token_cost: 2,
        cache_read_input_token_cost: 0.5,
        cache_creation_input_token_cost: 1.25,
        prompt_token_cost_unit: "USD",
        completion_token_cost_unit: "USD",
        provider_id: "openai",
        pricing_level: "default",
        pricing_level_id: "default",
        effective_date: "2026-01-01T00:00:00.000000Z",
        created_at: "2026-01-01T00:00:00.000000Z",
        created_by: null,
      },
    });
    expect(await costsOf(projectId, "new")).toMatchObject({ gpt: { prompt_tokens_total_cost: 60, requests: 2 } });
    expect(await costsOf(projectId, "before")).toMatchObject({ gpt: { prompt_token_cost: 10 } });
    expect(await costsOf(projectId, "none")).toBeUndefined();
    expect((await store.calls.read({ project_id: projectId, id: "old" }))?.costs).toBeUndefined();
  });

  it("follow the prices of the project, and of no other one", async () => {
    const [projectId, other] = [newProject(), newProject()];
    await store.ingest([projectId, other].map((project) => used(project, "c", "2026-05-01", { gpt: tokens })));
    const id = await setPrice(projectId, "gpt", "2026-04-01");
    expect(await costsOf(projectId, "c")).toMatchObject({
      gpt: {
        prompt_tokens_total_cost: 600,
        cache_read_input_tokens_total_cost: 0,
        pricing_level: "project",
        pricing_level_id: projectId,
        created_by: "u1",
      },
    });
    expect(await costsOf(other, "c")).toMatchObject({ gpt: { prompt_tokens_total_cost: 60 } });
    await store.costs.purge({ project_id: projectId, query: byId(id) });
    expect(await costsOf(projectId, "c")).toMatchObject({ gpt: { prompt_tokens_total_cost: 60 } });
  });

  it("come with a list, also of few columns", async () => {
    const projectId = newProject();
    await store.ingest([used(projectId, "c", "2026-05-01", { gpt: tokens, __proto__x: tokens })]);
    const [call] = await listCalls(store, {
      project_id: projectId,
      columns: ["op_name"],
      include_costs: true,
      limit: 5,
    });
    expect(Object.keys(JSON.parse(call?.costs ?? "{}") as object)).toEqual(["gpt"]);
  });
});

describe("sums of costs", () => {
  const projectId = newProject();
  const costs = (prompt: number, completion: number, read: number, creation: number) => ({
    prompt_tokens_total_cost: prompt,
    completion_tokens_total_cost: completion,
    cache_read_input_tokens_total_cost: read,
    cache_creation_input_tokens_total_cost: creation,
  });
  beforeAll(async () => {
    await setPrice(projectId, "gpt", "2026-04-02");
    await store.ingest([
      // Not what its child used: it would be taken for the sum.
      used(projectId, "root", "2026-04-01T10:00:00Z", { gpt: { ...tokens, completion_tokens: 5 } }),
      used(projectId, "child", "2026-04-02T10:00:00Z", { gpt: tokens, unpriced: tokens }, "root"),
    ]);
  });

  it("of a trace are those of its calls, each at its own price", async () => {
    const request = { project_id: projectId, include_costs: true };
    const usage = await store.calls.callsUsage({ ...request, call_ids: ["root"] });
    expect(usage.call_usage["root"]).toMatchObject({ gpt: costs(660, 810, 1.5, 1.25), unpriced: costs(0, 0, 0, 0) });
    const trace = await store.calls.traceUsage({ ...request, filter: { trace_ids: ["t"] } });
    expect(trace.call_usage["child"]).toMatchObject({ gpt: costs(600, 800, 0, 0) });
    expect(trace.call_usage["root"]).toEqual(usage.call_usage["root"]);
    const free = await store.calls.callsUsage({ project_id: projectId, call_ids: ["child"] });
    expect(free.call_usage["child"]?.["gpt"]?.prompt_tokens_total_cost).toBeNull();
  });

  const stats = (start: string, end: string, more: object) =>
    store.calls.callStats({ project_id: projectId, start: us(start), end: us(end), granularity: 86_400, ...more });

  it("of a range of time change with the prices within it", async () => {
    const { usage_buckets: buckets } = await stats("2026-04-01", "2026-04-03", {
      usage_metrics: [
        { metric: "total_cost" },
        { metric: "input_cost" },
        { metric: "output_cost" },
        { metric: "input_tokens", aggregations: ["max"] },
      ],
    });
    const numbers = (day: number, model: string) => {
      const bucket = buckets.find((each) => each.timestamp.startsWith(`2026-04-0${day}`) && each.model === model);
      return Object.fromEntries(Object.entries(bucket ?? {}).filter(([name]) => !/^(timestamp|model)$/.test(name)));
    };
    const sums = { count: 1, sum_input_tokens: 10, sum_output_tokens: 4, max_input_tokens: 10 };
    expect(numbers(1, "gpt")).toEqual({
      ...sums,
      sum_output_tokens: 5,
      sum_input_cost: 62.75,
      sum_output_cost: 10,
      sum_total_cost: 72.75,
    });
    expect(numbers(2, "gpt")).toEqual({ ...sums, sum_input_cost: 600, sum_output_cost: 800, sum_total_cost: 1400 });
    expect(numbers(2, "unpriced")).toEqual({ ...sums, sum_input_cost: 0, sum_output_cost: 0, sum_total_cost: 0 });
    expect(numbers(1, "unpriced")).toMatchObject({ count: 0, sum_total_cost: 0, max_input_tokens: null });
  });

  it("of a range with one price are at that price", async () => {
    const { usage_buckets: buckets } = await stats("2026-04-02T01:00:00Z", "2026-04-02T23:00:00Z", {
      usage_metrics: [{ metric: "total_cost" }],
    });
    expect(buckets.map(({ model, sum_total_cost }) => [model, sum_total_cost])).toEqual([
      ["gpt", 1400],
      ["unpriced", 0],
    ]);
  });

  it("are sums and nothing else", async () => {
    for (const [metric, loc] of [
      [{ aggregations: ["avg"] }, "aggregations"],
      [{ percentiles: [50] }, "percentiles"],
    ] as const) {
      const usageMetrics = [{ metric: "input_cost", ...metric }];
      await expect(stats("2026-04-01", "2026-04-03", { usage_metrics: usageMetrics })).rejects.toMatchObject({
        code: "invalid",
        loc: ["usage_metrics", 0, loc],
      });
    }
  });

  it("without any price are 0", async () => {
    const bare = await db.open();
    const { usage_buckets: buckets } = await bare.calls.callStats({
      project_id: projectId,
      start: us("2026-04-01"),
      end: us("2026-04-02"),
      usage_metrics: [{ metric: "total_cost" }],
      granularity: 86_400,
    });
    // The project's price is in effect later only, and counts before it for want of any other.
    expect(buckets.map(({ sum_total_cost }) => sum_total_cost)).toEqual([1600]);
    const empty = await bare.calls.callStats({
      project_id: newProject(),
      start: us("2026-04-01"),
      usage_metrics: [{ metric: "total_cost" }],
    });
    expect(empty.usage_buckets).toEqual([]);
  });
});
