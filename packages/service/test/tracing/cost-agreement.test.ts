import { createHash, randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { goldenTrees } from "@heddle/trace-model/testing/usage-trees";
import type { GoldenTree } from "@heddle/trace-model/testing/usage-trees";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

/*
 * What a trace cost is one number, wherever it is read. `summary.weave.costs` prices what a call reports: where clients
 * report the tokens of children in their parents, each call has the cost of its whole branch, and one call of each branch
 * adds up; where they do not, all calls do.
 */

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

interface Tree {
  attributes?: object;
  /** Prompt tokens; a token costs 2. */
  tokens?: number;
  exception?: string;
  below?: Tree[];
}

const weave = { weave: { client_version: "0.54.0", source: "python-sdk" } };
const wrapper = { operation: "ai.generateText" };
const at = (second: number) => new Date(Date.UTC(2026, 3, 10, 9, 0, second)).toISOString();

const cases: Array<{ name: string; tree: Tree; tokens: number; adding: "roots" | "all" }> = [
  {
    name: "a weave SDK, nested twice",
    tree: {
      attributes: weave,
      tokens: 14,
      below: [{ attributes: weave, tokens: 14, below: [{ attributes: weave, tokens: 14 }] }],
    },
    tokens: 14,
    adding: "roots",
  },
  {
    name: "a weave SDK, of which a call failed and its parents have tokens of their own",
    tree: {
      attributes: weave,
      tokens: 20,
      exception: "no",
      below: [
        { attributes: weave, tokens: 7, exception: "no" },
        { attributes: weave, tokens: 10 },
      ],
    },
    tokens: 20,
    adding: "roots",
  },
  {
    name: "the AI SDK around its requests",
    tree: { attributes: wrapper, tokens: 9, below: [{ tokens: 4 }, { tokens: 5 }] },
    tokens: 9,
    adding: "roots",
  },
  { name: "an agent that reports nothing", tree: { below: [{ tokens: 4 }, { tokens: 5 }] }, tokens: 9, adding: "all" },
  { name: "a parent with tokens of its own", tree: { tokens: 10, below: [{ tokens: 5 }] }, tokens: 15, adding: "all" },
];

test.each(cases)("every sum has the same cost for $name", async ({ tree, tokens, adding }) => {
  const projectId = newProject();
  const tracing = service.tracing();
  const price = { prompt_token_cost: 2, completion_token_cost: 0, effective_date: "2026-01-01T00:00:00Z" };
  await tracing.costCreate({ project_id: projectId, costs: { m: price } });
  const [entity = "", project = ""] = projectId.split("/");
  const batch = calls(projectId, tree);
  const root = batch[0]?.id ?? "";
  expect(await tracing.callsComplete({ entity, project, batch: batch.toReversed() as never })).toEqual({});

  const ofCall = await tracing.callsUsage({ project_id: projectId, call_ids: [root], include_costs: true });
  const ofTrace = await tracing.traceUsage({ project_id: projectId, include_costs: true });
  const metrics = [{ metric: "total_tokens" as const }, { metric: "total_cost" as const }];
  const times = { start: at(0), end: at(60) };
  const { usage_buckets = [] } = await tracing.callStats({ project_id: projectId, ...times, usage_metrics: metrics });
  const aggregate = await tracing.callsAggregate({ project_id: projectId, metrics: ["tokens_total", "cost"] });
  const outline = await tracing.traceOutline({ project_id: projectId, trace_id: root, include: ["costs"] });
  expect({
    of_call: figures(ofCall.call_usage?.[root]),
    of_trace: figures(ofTrace.call_usage?.[root]),
    stats: [
      sum(usage_buckets.map((one) => one["sum_total_tokens"])),
      sum(usage_buckets.map((one) => one["sum_total_cost"])),
    ],
    aggregate: [aggregate.total.values["tokens_total"], aggregate.total.values["cost"]],
    outline: [sum(outline.tokens), sum(outline.cost ?? [])],
  }).toEqual({
    of_call: [tokens, 2 * tokens],
    of_trace: [tokens, 2 * tokens],
    stats: [tokens, 2 * tokens],
    aggregate: [tokens, 2 * tokens],
    outline: [tokens, 2 * tokens],
  });

  const filter = adding === "roots" ? { trace_roots_only: true } : {};
  const response = await tracing.callsQuery({ project_id: projectId, filter, include_costs: true });
  expect(sum((response.calls ?? []).map(({ summary }) => summary?.weave?.costs?.["m"]?.prompt_tokens_total_cost))).toBe(
    2 * tokens,
  );
});

test("every sum has the tokens of all senders' trees, streamed, nested, failed and running", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  const traces = goldenTrees.map((tree, index) => ({ tree, trace: String(index + 1).padStart(32, "0") }));
  await Promise.all(traces.map(({ tree, trace }) => send(projectId, trace, tree)));
  const roots = traces.map(({ tree, trace }) =>
    idOf(trace, tree.calls.find(({ parent_id }) => parent_id === "")?.id ?? ""),
  );
  const ofCall = await tracing.callsUsage({ project_id: projectId, call_ids: roots });
  const ofTrace = await tracing.traceUsage({ project_id: projectId });
  const all = traces.map(({ tree }) =>
    sum(Object.values(tree.own).flatMap((rows) => rows.map((row) => row.total_tokens))),
  );
  expect(roots.map((id) => figures(ofCall.call_usage?.[id])[0])).toEqual(all);
  expect(roots.map((id) => figures(ofTrace.call_usage?.[id])[0])).toEqual(all);
  const metrics = [{ metric: "total_tokens" as const }];
  const { usage_buckets = [] } = await tracing.callStats({
    project_id: projectId,
    start: at(0),
    end: at(60),
    usage_metrics: metrics,
  });
  expect(sum(usage_buckets.map((bucket) => bucket["sum_total_tokens"]))).toBe(sum(all));
  const { total } = await tracing.callsAggregate({ project_id: projectId, metrics: ["tokens_total"] });
  expect(total.values["tokens_total"]).toBe(sum(all));
});

/** Ids of calls and spans alike, different in each trace. */
const idOf = (trace: string, id: string): string =>
  createHash("sha256").update(`${trace} ${id}`).digest("hex").slice(0, 16);

/** Sends the calls one by one, children first, as their client does. */
async function send(projectId: string, trace: string, { calls: sent }: GoldenTree): Promise<void> {
  for (const [index, call] of sent.entries()) {
    const started = at(sent.length - index);
    const parent = call.parent_id === "" ? undefined : idOf(trace, call.parent_id);
    if ("span" in call) {
      const attributes = Object.entries(call.span).map(([key, value]) => ({
        key,
        value: typeof value === "string" ? { stringValue: value } : { intValue: value },
      }));
      const nano = (text: string) => `${Date.parse(text)}000000`;
      const span = {
        traceId: trace,
        spanId: idOf(trace, call.id),
        parentSpanId: parent ?? "",
        name: call.name,
        startTimeUnixNano: nano(started),
        endTimeUnixNano: nano(at(59)),
        attributes,
        status: call.error === undefined ? {} : { code: 2, message: call.error },
      };
      const headers = {
        authorization: `Bearer ${service.owner_key}`,
        "content-type": "application/json",
        project_id: projectId,
      };
      const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
      const response = await service.fetch("http://in-process/v1/traces", { method: "POST", headers, body });
      expect(await response.json()).toEqual({});
      continue;
    }
    const names = { project_id: projectId, id: idOf(trace, call.id) };
    await service.tracing().callStart({
      start: {
        ...names,
        trace_id: trace,
        parent_id: parent,
        op_name: call.id,
        started_at: started,
        attributes: call.attributes as Record<string, unknown>,
        inputs: {},
      },
    });
    if (call.running) continue;
    const summary = (call.summary ?? {}) as Record<string, unknown>;
    await service
      .tracing()
      .callEnd({ end: { ...names, ended_at: at(59), output: null, summary, exception: call.exception } });
  }
}

const sum = (numbers: readonly unknown[]): number => numbers.reduce<number>((all, one) => all + Number(one ?? 0), 0);

function figures(usage: Record<string, { total_tokens?: number; prompt_tokens_total_cost?: number | null }> = {}) {
  const rows = Object.values(usage);
  return [sum(rows.map((row) => row.total_tokens)), sum(rows.map((row) => row.prompt_tokens_total_cost))];
}

/** Calls of a tree, the root first. */
function calls(projectId: string, tree: Tree, parent?: { id: string; trace_id: string }): Array<{ id: string }> {
  const id = randomUUID();
  const { tokens, attributes = {}, exception, below = [] } = tree;
  const counts = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens, requests: 1 };
  const call = {
    project_id: projectId,
    id,
    trace_id: parent?.trace_id ?? id,
    parent_id: parent?.id,
    op_name: "step",
    started_at: at(1),
    ended_at: at(2),
    attributes,
    inputs: {},
    output: null,
    exception,
    summary: tokens === undefined ? {} : { usage: { m: counts } },
  };
  return [call, ...below.flatMap((child) => calls(projectId, child, call))];
}
