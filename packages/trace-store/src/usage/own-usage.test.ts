import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import type { CallPart, UsageRow } from "@heddle/trace-model";
import { goldenTrees, partsOf } from "@heddle/trace-model/testing/usage-trees";
import type { GoldenTree } from "@heddle/trace-model/testing/usage-trees";
import { completePart, newProject, nowUs } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await db.open();
});
afterAll(() => db.drop());

const named = goldenTrees.map((tree) => [`${tree.sender}: ${tree.what}`, tree] as const);

/** By model: requests, prompt, completion and total tokens. */
type Totals = Record<string, number[]>;

function totalsOf(tree: GoldenTree): Totals {
  const totals: Totals = {};
  for (const { model, requests, prompt_tokens, completion_tokens, total_tokens } of Object.values(tree.own).flat()) {
    const counts = [requests, prompt_tokens, completion_tokens, total_tokens];
    totals[model] = (totals[model] ?? [0, 0, 0, 0]).map((sum, index) => sum + (counts[index] ?? 0));
  }
  return totals;
}

async function sendInTurn(parts: readonly CallPart[]): Promise<void> {
  for (const part of parts) await store.ingest([part]);
}

/** As a client that sends starts when calls begin, and ends when they end. */
function halves(parts: readonly CallPart[]): CallPart[] {
  const starts = parts.toReversed().flatMap((part) => (part.part === "end" ? [] : [part.start]));
  const ends = parts.flatMap((part) => (part.part === "start" ? [] : [part.end]));
  return [
    ...starts.map((start) => ({ part: "start" as const, start })),
    ...ends.map((end) => ({ part: "end" as const, end })),
  ];
}

async function reopen(): Promise<void> {
  await store.close();
  store = await db.open();
}

const ways: Record<string, (parts: CallPart[]) => Promise<void>> = {
  "in one request": async (parts) => void (await store.ingest(parts)),
  "children first": sendInTurn,
  "parents first": async (parts) => await sendInTurn(parts.toReversed()),
  "starts and ends": async (parts) => await sendInTurn(halves(parts)),
  "again and again": async (parts) => {
    await sendInTurn(parts);
    await store.ingest(parts);
    await sendInTurn(parts.toReversed());
  },
};

/** What each way to add usage up gives for a trace. */
async function sums(projectId: string, trace: ReturnType<typeof partsOf>, from: bigint) {
  const roots = trace.parts.flatMap((part) => (part.part === "end" || part.start.parent_id ? [] : [part.start.id]));
  const ofCalls = await store.calls.callsUsage({ project_id: projectId, call_ids: roots });
  const ofTrace = await store.calls.traceUsage({ project_id: projectId, filter: { trace_ids: [trace.trace_id] } });
  const stats = await store.calls.callStats({
    project_id: projectId,
    start: from - 1_000_000n,
    end: from + 60_000_000n,
    granularity: 3600,
    usage_metrics: [{ metric: "input_tokens" }, { metric: "output_tokens" }, { metric: "total_tokens" }],
  });
  const totals = (usage: typeof ofCalls): Totals =>
    Object.fromEntries(
      roots.flatMap((id) =>
        Object.entries(usage.call_usage[id] ?? {}).map(([model, row]) => [
          model,
          [row.requests, row.prompt_tokens, row.completion_tokens, row.total_tokens],
        ]),
      ),
    );
  const inStats: Totals = {};
  for (const { model, ...bucket } of stats.usage_buckets) {
    const counts = ["sum_input_tokens", "sum_output_tokens", "sum_total_tokens"].map((name) => Number(bucket[name]));
    inStats[model] = (inStats[model] ?? [0, 0, 0]).map((sum, index) => sum + (counts[index] ?? 0));
  }
  return { ofCalls: totals(ofCalls), ofTrace: totals(ofTrace), inStats };
}

function expectedSums(totals: Totals) {
  const inStats = Object.fromEntries(Object.entries(totals).map(([model, [, ...tokens]]) => [model, tokens]));
  return { ofCalls: totals, ofTrace: totals, inStats };
}

describe.each(Object.entries(ways))("each token is counted once, sent %s", (_, send) => {
  it.each(named)("%s", async (_, golden) => {
    const projectId = newProject();
    const from = nowUs();
    const trace = partsOf(golden, projectId, from);
    await send(trace.parts);
    expect(await sums(projectId, trace, from)).toEqual(expectedSums(totalsOf(golden)));
    // What was sent stays as it was sent.
    for (const part of trace.parts) {
      if (part.part !== "complete") continue;
      const stored = await store.calls.read({ project_id: projectId, id: part.start.id });
      expect(stored?.summary).toBe(part.end.summary);
    }
  });
});

const [twoOps] = goldenTrees;
const once = expectedSums({ "gpt-4o-mini": [1, 10, 4, 14] });

function twoOpsIn(projectId: string, from: bigint) {
  if (twoOps === undefined) throw new Error("there is no tree");
  const trace = partsOf(twoOps, projectId, from);
  const [completion, inner, outer] = trace.parts;
  if (completion?.part !== "complete" || inner?.part !== "complete" || outer?.part !== "complete")
    throw new Error("the calls of the tree are complete");
  return { trace, completion, inner, outer };
}

describe.each([
  ["now", () => nowUs()],
  ["months ago", () => nowUs() - 100n * 86_400_000_000n],
])("a trace of %s", (_, time) => {
  it("is counted once when a restart is between its calls", async () => {
    for (const order of ["children first", "parents first"]) {
      const projectId = newProject();
      const from = time();
      const { trace } = twoOpsIn(projectId, from);
      for (const part of order === "children first" ? trace.parts : trace.parts.toReversed()) {
        await store.ingest([part]);
        await reopen();
      }
      expect({ order, ...(await sums(projectId, trace, from)) }).toEqual({ order, ...once });
    }
  });

  it("is counted once when memory has forgotten its calls", async () => {
    await store.close();
    store = await db.open({ limits: { usageBytes: 0 } });
    const projectId = newProject();
    const from = time();
    const { trace } = twoOpsIn(projectId, from);
    const others = () => twoOpsIn(newProject(), from).trace.parts;
    for (const part of trace.parts.toReversed()) {
      await store.ingest([part]);
      await store.ingest(others());
    }
    expect(await sums(projectId, trace, from)).toEqual(once);
    await reopen();
  });
});

describe("calls that come late", () => {
  const row = { "our-model": { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 } };
  const partIn = (projectId: string, id: string, parentId: string | undefined, startedAt: bigint, usage?: object) =>
    completePart(
      { project_id: projectId, id, trace_id: `${projectId} trace`, parent_id: parentId, started_at: startedAt },
      { summary: JSON.stringify(usage === undefined ? {} : { usage }) },
    );
  const totalOf = async (projectId: string) => {
    const { call_usage } = await store.calls.callsUsage({ project_id: projectId, call_ids: ["agent"] });
    return call_usage["agent"]?.["our-model"]?.total_tokens;
  };

  it.each([
    ["at once", async () => {}],
    ["after a restart", reopen],
  ])("lead to the call above them, though the one between has no usage: %s", async (_, before) => {
    const projectId = newProject();
    const now = nowUs();
    await store.ingest([partIn(projectId, "agent", undefined, now - 3_000_000n, row)]);
    await store.ingest([completePart({ project_id: newProject(), started_at: now - 1_000_000n })]);
    await before();
    await store.ingest([partIn(projectId, "step", "agent", now - 2_000_000n)]);
    await store.ingest([partIn(projectId, "request", "step", now, row)]);
    expect(await totalOf(projectId)).toBe(14);
  });

  it("the root of a trace that was sent at once is sent again", async () => {
    const projectId = newProject();
    const now = nowUs();
    const agent = partIn(projectId, "agent", undefined, now - 3_000_000n, row);
    await store.ingest([partIn(projectId, "request", "agent", now, row), agent]);
    await store.ingest([agent]);
    expect(await totalOf(projectId)).toBe(14);
    await store.ingest([
      partIn(projectId, "agent", undefined, now - 3_000_000n, { ...row, other: { prompt_tokens: 1 } }),
    ]);
    expect(await totalOf(projectId)).toBe(14);
  });
});

it("when a child is deleted, its tokens are those of the call that still reports them", async () => {
  const projectId = newProject();
  const from = nowUs();
  const { trace, completion, inner } = twoOpsIn(projectId, from);
  await store.ingest(trace.parts);
  await store.calls.delete(projectId, [completion.start.id], "user");
  expect(await sums(projectId, trace, from)).toEqual(once);
  const { call_usage } = await store.calls.callsUsage({ project_id: projectId, call_ids: [inner.start.id] });
  expect(call_usage[inner.start.id]?.["gpt-4o-mini"]?.total_tokens).toBe(14);
  await store.calls.delete(
    projectId,
    [trace.parts.at(-1)?.part === "complete" ? (trace.ids.get("outer") ?? "") : ""],
    "user",
  );
  expect((await sums(projectId, trace, from)).inStats).toEqual({});
});

it("when the usage of a child changes, so does what the calls above it used themselves", async () => {
  const projectId = newProject();
  const from = nowUs();
  const { trace, completion, inner, outer } = twoOpsIn(projectId, from);
  await store.ingest(trace.parts);
  const summary = JSON.stringify({
    usage: { "gpt-4o-mini": { requests: 1, prompt_tokens: 6, completion_tokens: 4, total_tokens: 10 } },
  });
  await store.ingest([{ part: "end", end: { ...completion.end, summary } }]);
  // The calls above still report what the child reported when they ended.
  expect((await sums(projectId, trace, from)).ofCalls).toEqual({ "gpt-4o-mini": [1, 10, 4, 14] });
  await store.ingest([
    { part: "end", end: { ...inner.end, summary } },
    { part: "end", end: { ...outer.end, summary } },
  ]);
  expect(await sums(projectId, trace, from)).toEqual(expectedSums({ "gpt-4o-mini": [1, 6, 4, 10] }));
});

test("a call that reports what others used is there once, under its own version", async () => {
  const projectId = newProject();
  const { trace } = twoOpsIn(projectId, nowUs());
  await sendInTurn(trace.parts.toReversed());
  expect(await store.calls.count({ project_id: projectId })).toMatchObject({ count: 3 });
  const rows = await db.engine.rows<{ id: string; reported: string; own: UsageRow[] }>({
    sql: `SELECT id, reported_usage AS reported FROM calls WHERE project_id = '${projectId}' AND parent_id = '' ORDER BY version DESC LIMIT 1`,
  });
  expect(JSON.parse(rows[0]?.reported ?? "")).toMatchObject({ model: ["gpt-4o-mini"], total_tokens: [14] });
});
