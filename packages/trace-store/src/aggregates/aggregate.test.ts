import { HeddleError } from "@heddle/errors";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keysOf, valuesOf } from "../../test/aggregate-oracle.js";
import type { Member } from "../../test/aggregate-oracle.js";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { listCalls } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";
import type { AggregateRequest } from "./aggregate.js";
import type { CallAggregates, Figures } from "./figures.js";

const db = testDatabase();
let store: TraceStore;
const projectId = newProject();
const t0 = 1_775_811_600_000_000n;
const minuteUs = 60_000_000n;
const prices = { gpt: 0.5, mini: 0.25 };
const allMetrics = [
  ..."count errors running latency_avg latency_p50 latency_p95 latency_p99 latency_max requests cost".split(" "),
  ..."tokens_input tokens_output tokens_total tokens_cache_read tokens_cache_creation".split(" "),
  "feedback.[quality].payload.score",
];

beforeAll(async () => {
  store = await db.open();
  const price = (cost: number) => ({ prompt_token_cost: cost, completion_token_cost: cost, effective_date: 0n });
  await store.costs.create({ project_id: projectId, costs: { gpt: price(prices.gpt), mini: price(prices.mini) } });
  const pick = <T>(list: readonly T[], n: number) => list[n % list.length];
  const parts = Array.from({ length: 300 }, (_, n) => {
    const tokens = { prompt_tokens: n % 7, completion_tokens: n % 5, requests: 1 };
    const usage = pick(
      [{}, { gpt: tokens }, { mini: tokens }, { gpt: tokens, mini: tokens, unpriced: tokens }],
      n * 13,
    );
    const start = {
      project_id: projectId,
      id: `c${n}`,
      trace_id: `t${n % 9}`,
      op_name: pick(["answer", "weave:///acme/demo/op/Correct.score:v1", "weave:///acme/demo/op/Correct.score:v2"], n),
      wb_user_id: pick(["ann", "bob", ""], n * 3 + (n >> 3)),
      started_at: t0 + BigInt((n * 37) % 180) * minuteUs,
      attributes: pick(['{"weave":{"kind":"tool"}}', "{}", '{"kind":"AGENT"}'], n >> 2) ?? "{}",
      inputs: JSON.stringify({ lang: pick(["de", "en", undefined, null, 1, true, { a: 1.5 }], n >> 1), row: n % 40 }),
    };
    const exception = n % 11 === 0 ? "boom" : "";
    return n % 17 === 0
      ? startPart(start)
      : completePart(start, {
          ended_at: start.started_at + BigInt(n * 1000),
          exception,
          summary: JSON.stringify({ usage }),
          output: String(n / 3),
        });
  });
  await store.ingest(parts);
  for (const n of [3, 5, 8, 40, 41, 100]) {
    const payload = JSON.stringify({ score: n === 8 ? true : n / 10 });
    await store.feedback.create({
      project_id: projectId,
      weave_ref: `weave:///${projectId}/call/c${n}`,
      feedback_type: "quality",
      wb_user_id: "ann",
      payload,
    });
  }
  // Replaced, deleted, and of another project.
  await store.ingest([
    completePart(
      { project_id: projectId, id: "c9", started_at: t0 + 5n * minuteUs, inputs: '{"lang":"fr"}' },
      { ended_at: t0 + 6n * minuteUs },
    ),
  ]);
  await store.calls.delete(projectId, ["c10", "c11"], "ann");
  await store.ingest([completePart({ project_id: newProject(), id: "c1", started_at: t0 })]);
});
afterAll(() => db.drop());

type Request = Partial<AggregateRequest>;
const aggregate = async (request: Request = {}) =>
  await store.aggregates.aggregate({ project_id: projectId, metrics: ["count"], top: 20, ...request });

/** The same from the calls themselves. */
async function expected({ group_by = [], metrics = ["count"], time, top = 20, ...selection }: Request) {
  const calls = await listCalls(store, { project_id: projectId, include_feedback: true, ...selection });
  const inRange = calls.filter(({ started_at: us }) => time === undefined || (us >= time.start && us < time.end));
  const members = inRange.flatMap((call) =>
    keysOf(call, group_by).map((key, index) => ({
      key,
      member: {
        call,
        isFirst: index === 0,
        model: group_by.includes("model") ? key[group_by.indexOf("model")] : undefined,
      },
    })),
  );
  const groups = new Map<string, Member[]>();
  for (const { key, member } of members) {
    const text = JSON.stringify(key);
    groups.set(text, [...(groups.get(text) ?? []), member]);
  }
  const ordered = [...groups].toSorted(([, a], [, b]) => countOf(b) - countOf(a));
  const figures = (list: readonly Member[]) => valuesOf(list, metrics, prices);
  return {
    total: figures(inRange.map((call) => ({ call, isFirst: true, model: undefined }))),
    groups: new Map(ordered.map(([key, list]) => [key, figures(list)])),
    members: ordered,
    figures,
    isCut: ordered.length > top,
  };
}

const countOf = (members: readonly Member[]) => members.filter(({ isFirst }) => isFirst).length;
const close = (values: Record<string, number | null>) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value === null ? null : expect.closeTo(value, 6)]),
  );

const field = (path: string) => ({ $getField: path });
const selections: Request[] = [
  {},
  { filter: { trace_ids: ["t1", "t2", "t3"] } },
  { filter: { call_ids: ["c1", "c17", "c9", "c10", "nobody"] } },
  { query: { $expr: { $gt: [field("inputs.row"), { $literal: 12 }] } } },
  { query: { $expr: { $eq: [field("summary.weave.kind"), { $literal: "model" }] } }, filter: { wb_user_ids: ["ann"] } },
  { query: { $expr: { $gt: [field("feedback.[quality].payload.score"), { $literal: 0.35 }] } } },
  { query: { $expr: { $eq: [field("id"), { $literal: "nobody" }] } } },
  { search: { text: "fr" } },
];

test.each(selections)("all metrics of %o are those of the calls themselves", async (selection) => {
  const { total } = await aggregate({ ...selection, metrics: allMetrics });
  expect(total.values).toEqual(close((await expected({ ...selection, metrics: allMetrics })).total));
});

test.each([
  ["status"],
  ["op"],
  ["user"],
  ["kind"],
  ["model"],
  ["inputs.lang"],
  ["kind", "status"],
  ["model", "inputs.lang"],
  ["inputs.row"],
])("groups by %s %s have the metrics of their calls, and add up with the others", async (...keys) => {
  const groupBy = keys.filter((key) => typeof key === "string");
  for (const selection of [selections[0], selections[3]]) {
    for (const top of [100, 2]) {
      const request = { ...selection, group_by: groupBy, metrics: allMetrics, top };
      const found = await aggregate(request);
      const should = await expected(request);
      expect(found.total.values).toEqual(close(should.total));
      expect(found.groups).toHaveLength(Math.min(top, should.groups.size));
      for (const { key, values } of found.groups) {
        expect(values).toEqual(close(should.groups.get(JSON.stringify(key)) ?? {}));
      }
      // The largest groups, and all others together.
      const counts = found.groups.map(({ values }) => values["count"]);
      expect(counts).toEqual([...should.groups.values()].slice(0, top).map(({ count }) => count));
      expect(found.other !== undefined).toBe(should.groups.size > top);
      const foundKeys = new Set(found.groups.map(({ key }) => JSON.stringify(key)));
      const rest = should.members.filter(([key]) => !foundKeys.has(key)).flatMap(([, list]) => list);
      if (found.other) expect(found.other.values).toEqual(close(should.figures(rest)));
      expect(sumOf(found, "count")).toBe(found.total.values["count"]);
      expect(sumOf(found, "tokens_total")).toBe(found.total.values["tokens_total"]);
      expect(sumOf(found, "cost")).toBeCloseTo(found.total.values["cost"] ?? 0, 6);
    }
  }
});

function sumOf({ groups, other }: CallAggregates, metric: string): number {
  return [...groups, ...(other ? [other] : [])].reduce((sum, { values }) => sum + (values[metric] ?? 0), 0);
}

test("a series has a number for each bucket of the time zone's clock, and adds up to its group and its bucket", async () => {
  const time = { start: t0 - 30n * minuteUs, end: t0 + 150n * minuteUs, buckets: 10, timezone: "Asia/Kolkata" };
  const request = { time, group_by: ["status"], metrics: ["count", "cost", "latency_avg", "latency_p50"], top: 2 };
  const found = await aggregate(request);
  const should = await expected(request);
  expect(found.total.values).toEqual(close(should.total));
  const { starts = [], seconds } = found.time ?? {};
  // 09:00 UTC is 14:30 there, so that buckets of half an hour begin on the hour and half past.
  expect([seconds, starts.length]).toEqual([1800, 6]);
  const inBucket = ({ call }: Member, index: number) =>
    call.started_at >= (starts[index] ?? 0n) && call.started_at < (starts[index + 1] ?? time.end);
  for (const { key, series, values } of found.groups) {
    const members = should.members.find(([text]) => text === JSON.stringify(key))?.[1] ?? [];
    for (const index of starts.keys()) {
      const bucket = valuesOf(
        members.filter((member) => inBucket(member, index)),
        request.metrics,
        prices,
      );
      expect(Object.fromEntries(request.metrics.map((name) => [name, series?.[name]?.[index]]))).toEqual(close(bucket));
    }
    expect(total(series?.["count"])).toBe(values["count"]);
  }
  const all = [...found.groups, found.other].flatMap((figures: Figures | undefined) => (figures ? [figures] : []));
  for (const index of starts.keys()) {
    const [count, cost] = ["count", "cost"].map((name) => total(all.map(({ series }) => series?.[name]?.[index] ?? 0)));
    expect(count).toBe(found.total.series?.["count"]?.[index]);
    expect(cost).toBeCloseTo(found.total.series?.["cost"]?.[index] ?? 0, 6);
  }
});

const total = (numbers: ReadonlyArray<number | null> = []) => numbers.reduce<number>((sum, n) => sum + (n ?? 0), 0);

test("buckets are as wide as needed, at most as many as asked for", async () => {
  for (const [minutes, buckets, seconds] of [
    [1, 1000, 1],
    [180, 60, 300],
    [180, 1, 10_800],
    [60 * 24 * 400, 100, 604_800],
  ] as const) {
    const time = { start: t0, end: t0 + BigInt(minutes) * minuteUs, buckets };
    const found = await aggregate({ time });
    expect([found.time?.seconds, (found.time?.starts.length ?? 0) <= buckets]).toEqual([seconds, true]);
  }
});

test("a distribution counts each call that has a number, in bins of equal width or ratio", async () => {
  const { distributions = [] } = await aggregate({
    distributions: [
      { field: "latency_ms", bins: 10 },
      { field: "output", bins: 7, log: true },
      { field: "inputs.lang", bins: 5 },
      { field: "inputs.nothing", bins: 5 },
    ],
  });
  const calls = await listCalls(store, { project_id: projectId });
  const [latency, output, lang, nothing] = distributions;
  const latencies = calls.flatMap(({ latency_us: us }) => (us === null ? [] : [Number(us) / 1000]));
  expect(latency).toMatchObject({ field: "latency_ms", count: latencies.length });
  expect([latency?.edges[0], latency?.edges.at(-1)]).toEqual([
    Math.min(...latencies),
    expect.closeTo(Math.max(...latencies), 6),
  ]);
  for (const [bin, count] of (latency?.counts ?? []).entries()) {
    const [from = 0, to = 0] = latency?.edges.slice(bin) ?? [];
    const isLast = bin === 9;
    expect(latencies.filter((ms) => ms >= from - 1e-9 && (isLast ? ms <= to + 1e-9 : ms < to - 1e-9))).toHaveLength(
      count,
    );
  }
  const outputs = calls.filter(({ output: text }) => Number(text) > 0).length;
  expect([output?.count, output?.edges.length, output?.counts.length]).toEqual([outputs, 8, 7]);
  // 1 and true are both 1.
  expect(lang?.edges).toEqual([1, 1]);
  expect(nothing).toEqual({ field: "inputs.nothing", count: 0, edges: [], counts: [] });
});

test.each([
  [{ metrics: ["count", "latency_p42"] }, ["metrics", 1]],
  [{ metrics: ["feedback.[note].runnable_ref"] }, ["metrics", 0]],
  [{ metrics: ["__proto__"] }, ["metrics", 0]],
  [{ group_by: ["nonsense"] }, ["group_by", 0]],
  [{ group_by: ["status", "constructor"] }, ["group_by", 1]],
  [{ distributions: [{ field: "nonsense", bins: 2 }] }, ["distributions", 0, "field"]],
  [{ time: { start: t0, end: t0, buckets: 5 } }, ["time", "end"]],
  [{ time: { start: t0, end: t0 + 1n, buckets: 5, timezone: "Mars" } }, ["time", "timezone"]],
  [
    { group_by: ["op"], top: 100, metrics: allMetrics, time: { start: t0, end: t0 + 1000n * minuteUs, buckets: 1000 } },
    ["top"],
  ],
] as const)("%o is refused with its place", async (request, loc) => {
  await expect(aggregate(request as Request)).rejects.toMatchObject({ loc: [...loc] });
});

test("what takes too long is answered from the newest calls, and says so", async () => {
  const other = newProject();
  await store.ingest(
    Array.from({ length: 150 }, (_, n) =>
      completePart({ project_id: other, id: `c${n}`, started_at: t0 + BigInt(n), inputs: `{"n":${n % 2}}` }),
    ),
  );
  /** Statements that are still to fail. */
  let slow = 0;
  const tooSlow = () => (slow-- > 0 ? Promise.reject(tookTooLong()) : undefined);
  const slowly = await db.open({
    wrapEngine: (engine) => ({ ...engine, rows: (source, options) => tooSlow() ?? engine.rows(source, options) }),
  });
  const read = async (failures: number) => {
    slow = failures;
    const request = { project_id: other, metrics: ["count"], group_by: ["inputs.n"], top: 5 };
    const { total: all, groups, exact, since } = await slowly.aggregates.aggregate(request);
    return [all.values["count"], groups.map(({ values }) => values["count"]), exact, since];
  };
  expect(await read(0)).toEqual([150, [75, 75], true, undefined]);
  // The project has fewer calls than the first samples.
  expect(await read(1)).toEqual([150, [75, 75], false, t0]);
  expect(await read(4)).toEqual([100, [50, 50], false, t0 + 50n]);
});

function tookTooLong(): HeddleError {
  const cause = Object.assign(new Error("Timeout exceeded"), { code: "159" });
  return new HeddleError("busy", "The trace engine took too long", { cause });
}

test("an aggregation that its reader has given up stops", async () => {
  const reader = new AbortController();
  const answering = store.aggregates.aggregate(
    { project_id: projectId, metrics: ["count"], group_by: ["status"], top: 5 },
    { signal: reader.signal },
  );
  reader.abort(new Error("gone"));
  await expect(answering).rejects.toThrow("gone");
});

test("groups are named by values as they were sent, to the digit", async () => {
  const project = newProject();
  const sent = ["1.0", "1", "0.70", "107505301260286111", '"1.50"', "[1.0]"];
  await store.ingest(
    sent.map((value, n) =>
      completePart({
        project_id: project,
        id: `n${n}`,
        started_at: t0 + BigInt(n),
        inputs: `{"t":${value},"kind":"${n < 1 ? "a" : "b"}"}`,
      }),
    ),
  );
  const keys = async (groupBy: string[]) => {
    const { groups } = await store.aggregates.aggregate({
      project_id: project,
      group_by: groupBy,
      metrics: ["count"],
      top: 10,
    });
    return groups.map(({ key, values }) => [...key, values["count"]]);
  };
  const found = await keys(["inputs.t"]);
  expect(found).toEqual(
    expect.arrayContaining([
      ["0.70", 1],
      ["1.50", 1],
      ["107505301260286111", 1],
      ["[1.0]", 1],
    ]),
  );
  // One value, sent in two ways.
  expect(found.filter(([key]) => Number(key) === 1)).toEqual([[expect.stringMatching(/^1(\.0)?$/), 2]]);
  expect(await keys(["inputs.kind", "inputs.t"])).toContainEqual(["a", "1.0", 1]);
});
