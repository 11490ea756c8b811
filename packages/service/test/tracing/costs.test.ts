import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
const directory = mkdtempSync(join(tmpdir(), "heddle-costs-"));
beforeAll(async () => {
  const file = join(directory, "prices.json");
  const prices = [{ llm_id: "our-model", prompt_token_cost: 0.5, completion_token_cost: 1 }];
  writeFileSync(file, JSON.stringify({ unit: "EUR", prices }));
  service = await openTestService({ HEDDLE_PRICES_FILE: file });
});
afterAll(async () => {
  await service.close();
  rmSync(directory, { recursive: true });
});
afterEach(() => expect(service.unexpected).toEqual([]));

const started = "2026-04-10T09:00:00.000000Z";

async function traced(projectId: string, id: string, usage: Record<string, Record<string, number>>): Promise<void> {
  const tracing = service.tracing();
  await tracing.callStart({
    start: {
      project_id: projectId,
      id,
      trace_id: "t",
      op_name: "answer",
      started_at: started,
      attributes: {},
      inputs: {},
    },
  });
  await tracing.callEnd({
    end: { project_id: projectId, id, ended_at: "2026-04-10T09:00:01Z", output: null, summary: { usage } },
  });
}

interface Costs {
  [model: string]: Record<string, unknown>;
}

async function costsOf(projectId: string, id: string): Promise<Costs | undefined> {
  const { call } = await service.tracing().callRead({ project_id: projectId, id, include_costs: true });
  return (call?.summary as { weave?: { costs?: Costs } } | undefined)?.weave?.costs;
}

const byId = (id: string) => ({ $expr: { $eq: [{ $getField: "id" }, { $literal: id }] } });

test("a price that is set counts until it is purged", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  await traced(projectId, "c", { "gpt-4o-mini": { prompt_tokens: 1000, completion_tokens: 100 } });
  expect(await costsOf(projectId, "c")).toMatchObject({
    "gpt-4o-mini": {
      prompt_tokens_total_cost: expect.closeTo(0.00015, 12),
      completion_tokens_total_cost: expect.closeTo(0.00006, 12),
      pricing_level: "default",
      provider_id: "openai",
    },
  });
  const costs = {
    "gpt-4o-mini": { prompt_token_cost: 1, completion_token_cost: 2, effective_date: "2026-04-10T09:00Z" },
  };
  const { ids } = await tracing.costCreate({ project_id: projectId, costs });
  const [[id = "", model] = []] = ids;
  expect(model).toBe("gpt-4o-mini");
  expect((await tracing.costQuery({ project_id: projectId })).results).toEqual([
    {
      id,
      llm_id: "gpt-4o-mini",
      provider_id: "default",
      effective_date: started,
      prompt_token_cost: 1,
      completion_token_cost: 2,
      cache_read_input_token_cost: 0,
      cache_creation_input_token_cost: 0,
      prompt_token_cost_unit: "USD",
      completion_token_cost_unit: "USD",
    },
  ]);
  const priced = { prompt_tokens_total_cost: 1000, completion_tokens_total_cost: 200 };
  expect(await costsOf(projectId, "c")).toMatchObject({ "gpt-4o-mini": { ...priced, pricing_level: "project" } });
  const { calls } = await tracing.callsQuery({ project_id: projectId, include_costs: true });
  expect(calls[0]?.summary).toMatchObject({ weave: { costs: { "gpt-4o-mini": priced }, status: "success" } });
  const usage = await tracing.callsUsage({ project_id: projectId, call_ids: ["c"], include_costs: true });
  expect(usage.call_usage).toMatchObject({ c: { "gpt-4o-mini": priced } });
  const stats = await tracing.callStats({
    project_id: projectId,
    start: "2026-04-10T00:00:00Z",
    end: "2026-04-11T00:00:00Z",
    granularity: 86_400,
    usage_metrics: [{ metric: "total_cost" }],
  });
  expect(stats.usage_buckets).toMatchObject([{ model: "gpt-4o-mini", sum_total_cost: 1200, sum_input_tokens: 1000 }]);

  await tracing.costPurge({ project_id: projectId, query: byId(id) });
  expect((await tracing.costQuery({ project_id: projectId })).results).toEqual([]);
  expect(await costsOf(projectId, "c")).toMatchObject({ "gpt-4o-mini": { pricing_level: "default" } });
});

test("prices of the operator's file count in every project", async () => {
  const projectId = newProject();
  await traced(projectId, "c", { "our-model": { input_tokens: 2, cache_read_input_tokens: 8, output_tokens: 3 } });
  expect(await costsOf(projectId, "c")).toMatchObject({
    "our-model": {
      prompt_tokens: 10,
      prompt_tokens_total_cost: 1,
      cache_read_input_tokens_total_cost: 4,
      completion_tokens_total_cost: 3,
      prompt_token_cost_unit: "EUR",
    },
  });
});

test("nobody sees, uses or purges the prices of another project", async () => {
  const [mine, other] = [newProject(), newProject()];
  const tracing = service.tracing();
  const costs = { m: { prompt_token_cost: 1, completion_token_cost: 1 } };
  const { ids } = await tracing.costCreate({ project_id: mine, costs });
  await traced(other, "c", { m: { prompt_tokens: 1 } });
  expect(await costsOf(other, "c")).toBeUndefined();
  await tracing.costPurge({ project_id: other, query: byId(ids[0]?.[0] ?? "") });
  expect((await tracing.costQuery({ project_id: mine })).results).toHaveLength(1);
});

const price = { prompt_token_cost: 1, completion_token_cost: 1 };
const send = async (path: string, body: string) => {
  const response = await service.fetch(`http://in-process${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.owner_key}` },
    body,
  });
  return { status: response.status, text: await response.text() };
};

test.each<[name: string, path: string, body: object | string, status: number, says: string]>([
  ["a negative price", "/cost/create", { costs: { m: { ...price, prompt_token_cost: -1 } } }, 422, "prompt_token_cost"],
  [
    "a price per million",
    "/cost/create",
    { costs: { m: { ...price, completion_token_cost: 15e6 } } },
    422,
    "completion_token_cost",
  ],
  [
    "NaN",
    "/cost/create",
    '{"project_id":"acme/demo","costs":{"m":{"prompt_token_cost":NaN,"completion_token_cost":1}}}',
    422,
    "prompt_token_cost",
  ],
  ["a misspelt price", "/cost/create", { costs: { m: { ...price, cached_cost: 1 } } }, 422, "cached_cost"],
  [
    "a price without a completion",
    "/cost/create",
    { costs: { m: { prompt_token_cost: 1 } } },
    422,
    "completion_token_cost",
  ],
  ["a model without a name", "/cost/create", { costs: { "": price } }, 400, "name of a model"],
  [
    "a date that is none",
    "/cost/create",
    { costs: { m: { ...price, effective_date: "soon" } } },
    422,
    "effective_date",
  ],
  [
    "a unit that is a text",
    "/cost/create",
    { costs: { m: { ...price, prompt_token_cost_unit: "x".repeat(17) } } },
    422,
    "prompt_token_cost_unit",
  ],
  [
    "more models than a request may have",
    "/cost/create",
    { costs: Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`m${n}`, price])) },
    422,
    "costs",
  ],
  ["an unknown field", "/cost/query", { fields: ["id", "created_by"] }, 422, "created_by"],
  ["an order by an unknown field", "/cost/query", { sort_by: [{ field: "price", direction: "asc" }] }, 422, "price"],
  ["a negative limit", "/cost/query", { limit: -1 }, 400, "limit"],
  [
    "a purge of a model",
    "/cost/purge",
    { query: { $expr: { $eq: [{ $getField: "llm_id" }, { $literal: "m" }] } } },
    400,
    "by id",
  ],
  [
    "a purge of all",
    "/cost/purge",
    { query: { $expr: { $not: [{ $eq: [{ $getField: "id" }, { $literal: "x" }] }] } } },
    400,
    "by id",
  ],
  ["a purge of nothing", "/cost/purge", {}, 422, "query"],
])("%s is refused by name", async (_name, path, body, status, says) => {
  const text = typeof body === "string" ? body : JSON.stringify({ project_id: "acme/demo", ...body });
  const answer = await send(path, text);
  expect(answer).toEqual({ status, text: expect.stringContaining(says) });
});
