import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const second = (n: number) => new Date(Date.UTC(2026, 3, 10, 9, 0, n)).toISOString();
const price = { prompt_token_cost: 1, completion_token_cost: 10, effective_date: "2026-01-01T00:00:00Z" };

/** What every sum of the project says of its one model: tokens, and costs at the price above. */
async function sums(projectId: string, root: string) {
  const tracing = service.tracing();
  const ofCall = await tracing.callsUsage({ project_id: projectId, call_ids: [root], include_costs: true });
  const ofTrace = await tracing.traceUsage({ project_id: projectId, include_costs: true });
  const { usage_buckets } = await tracing.callStats({
    project_id: projectId,
    start: second(-60),
    end: second(3600),
    granularity: 86_400,
    usage_metrics: [{ metric: "total_tokens" }, { metric: "total_cost" }],
  });
  const rows = [ofCall, ofTrace].map(({ call_usage }) =>
    Object.entries(call_usage?.[root] ?? {}).map(([model, usage]) => ({
      model,
      requests: usage.requests,
      tokens: usage.total_tokens,
      cost: (usage.prompt_tokens_total_cost ?? 0) + (usage.completion_tokens_total_cost ?? 0),
    })),
  );
  const stats = (usage_buckets ?? []).map(({ model, count, ...bucket }) => ({
    model,
    count,
    tokens: bucket["sum_total_tokens"],
    cost: bucket["sum_total_cost"],
  }));
  return { of_call: rows[0], of_trace: rows[1], stats };
}

describe("each token is counted once", () => {
  test("where the SDK of weave adds the usage of children to their parents", async () => {
    const projectId = newProject();
    const tracing = service.tracing();
    await tracing.costCreate({ project_id: projectId, costs: { "our-model": price } });
    const usage = { "openai/our-model": { requests: 1, prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 } };
    const attributes = { weave: { client_version: "0.54.0", source: "python-sdk" } };
    const calls = [{ id: "outer" }, { id: "inner", parent_id: "outer" }, { id: "completion", parent_id: "inner" }];
    for (const [index, call] of calls.entries()) {
      await tracing.callStart({
        start: {
          project_id: projectId,
          ...call,
          trace_id: "t",
          op_name: call.id,
          started_at: second(index),
          attributes,
          inputs: {},
        },
      });
    }
    for (const { id } of calls.toReversed()) {
      const end = { project_id: projectId, id, ended_at: second(9), output: null, summary: { usage } };
      await tracing.callEnd({ end });
    }
    expect(await sums(projectId, "outer")).toEqual({
      of_call: [{ model: "our-model", requests: 1, tokens: 14, cost: 50 }],
      of_trace: [{ model: "our-model", requests: 1, tokens: 14, cost: 50 }],
      stats: [{ model: "our-model", count: 1, tokens: 14, cost: 50 }],
    });
    // As examples for weave add costs up: over roots, which report all that is below them.
    const roots = await tracing.callsQuery({
      project_id: projectId,
      filter: { trace_roots_only: true },
      include_costs: true,
    });
    expect(roots.calls).toMatchObject([
      {
        summary: {
          usage,
          weave: {
            costs: {
              "openai/our-model": { requests: 1, prompt_tokens_total_cost: 10, completion_tokens_total_cost: 40 },
            },
          },
        },
      },
    ]);
  });

  test("where the AI SDK reports a request in two spans, which name the model differently", async () => {
    const projectId = newProject();
    await service.tracing().costCreate({ project_id: projectId, costs: { "gpt-4o": price } });
    const spans = [
      {
        spanId: "2".repeat(16),
        parentSpanId: "1".repeat(16),
        name: "ai.generateText.doGenerate",
        model: "gpt-4o-2024-08-06",
      },
      { spanId: "1".repeat(16), name: "ai.generateText", model: undefined },
    ].map(({ model, ...span }) => ({
      ...span,
      traceId: "1".repeat(32),
      startTimeUnixNano: `${Date.parse(second(1))}000000`,
      endTimeUnixNano: `${Date.parse(second(2))}000000`,
      attributes: [
        text("ai.operationId", span.name),
        text("ai.model.id", "gpt-4o"),
        ...(model === undefined ? [] : [text("gen_ai.response.model", model)]),
        { key: "ai.usage.promptTokens", value: { intValue: 10 } },
        { key: "ai.usage.completionTokens", value: { intValue: 4 } },
      ],
    }));
    for (const span of spans) await send(projectId, [span]);
    const row = { model: "gpt-4o-2024-08-06", requests: 0, tokens: 14, cost: 50 };
    expect(await sums(projectId, "1".repeat(16))).toEqual({
      of_call: [row],
      of_trace: [row],
      stats: [{ model: "gpt-4o-2024-08-06", count: 1, tokens: 14, cost: 50 }],
    });
  });
});

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });

async function send(projectId: string, spans: object[]): Promise<void> {
  const response = await service.fetch("http://in-process/otel/v1/traces", {
    method: "POST",
    headers: {
      authorization: `Bearer ${service.owner_key}`,
      "content-type": "application/json",
      project_id: projectId,
    },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  });
  expect([response.status, await response.json()]).toEqual([200, {}]);
}
