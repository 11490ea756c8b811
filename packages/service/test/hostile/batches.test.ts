import { newId } from "@heddle/trace-model";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

type Item = Record<string, unknown>;
interface Call {
  id: string;
  started_at: string;
  ended_at: string | null;
  parent_id: string | null;
  output: unknown;
  summary: { weave: { status: string; latency_ms: number | null } };
}

async function post(path: string, body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await service.fetch(`http://in-process${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.owner_key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

/** Sends a batch; one word per item: `stored`, or the type of its error. */
async function upsert(batch: unknown[]): Promise<string[]> {
  const { status, body } = await post("/call/upsert_batch", { batch });
  expect(status).toBe(200);
  return (body["res"] as { error?: { type: string } }[]).map(({ error }) => error?.type ?? "stored");
}

async function callsOf(projectId: string): Promise<Call[]> {
  const { calls } = (await post("/calls/query", { project_id: projectId })).body as { calls: Call[] };
  const { count } = (await post("/calls/query_stats", { project_id: projectId })).body;
  expect(count).toBe(calls.length);
  return calls;
}

const begin = (projectId: string, id: string, more: Item = {}) => ({
  mode: "start",
  req: {
    start: {
      project_id: projectId,
      id,
      trace_id: "t",
      op_name: "op",
      started_at: "2026-04-10T09:00:00Z",
      attributes: {},
      inputs: {},
      ...more,
    },
  },
});
const finish = (projectId: string, id: string, more: Item = {}) => ({
  mode: "end",
  req: { end: { project_id: projectId, id, ended_at: "2026-04-10T09:00:01Z", output: id, summary: {}, ...more } },
});

test("the same id many times in one batch is one call, and the newest part of each side wins", async () => {
  const projectId = newProject();
  const batch = [
    begin(projectId, "a", { inputs: { n: 1 } }),
    finish(projectId, "a", { output: 1 }),
    begin(projectId, "a", { inputs: { n: 2 } }),
    finish(projectId, "a", { output: 2 }),
    begin(projectId, "a", { inputs: { n: 3 }, started_at: "2026-04-10T08:59:59Z" }),
  ];
  expect(await upsert(batch)).toEqual(batch.map(() => "stored"));
  expect(await callsOf(projectId)).toMatchObject([
    { id: "a", inputs: { n: 3 }, output: 2, started_at: "2026-04-10T08:59:59.000000Z" },
  ]);
});

test("ends before their starts and children before their parents, in one batch and over several", async () => {
  const projectId = newProject();
  await upsert([finish(projectId, "child"), begin(projectId, "child", { parent_id: "parent" })]);
  expect(await callsOf(projectId)).toMatchObject([{ id: "child", parent_id: "parent", output: "child" }]);
  await upsert([finish(projectId, "parent")]);
  expect(await callsOf(projectId)).toHaveLength(1);
  await upsert([begin(projectId, "parent", { started_at: "2026-04-10T08:00:00Z" })]);
  const calls = await callsOf(projectId);
  expect(calls.map(({ id, output }) => [id, output])).toEqual([
    ["parent", "parent"],
    ["child", "child"],
  ]);
});

test("a call that is its own parent, and two that are each other's, are kept and can be deleted", async () => {
  const projectId = newProject();
  await upsert([
    begin(projectId, "self", { parent_id: "self" }),
    begin(projectId, "one", { parent_id: "two" }),
    begin(projectId, "two", { parent_id: "one" }),
  ]);
  expect(await callsOf(projectId)).toHaveLength(3);
  const usage = await post("/trace/usage", { project_id: projectId, filter: { trace_ids: ["t"] } });
  expect(usage.status).toBe(200);
  expect((await post("/calls/delete", { project_id: projectId, call_ids: ["self", "one"] })).status).toBe(200);
  expect(await callsOf(projectId)).toEqual([]);
});

test("an end before its start in time has a negative latency and breaks no list, count or statistic", async () => {
  const projectId = newProject();
  await upsert([begin(projectId, "a"), finish(projectId, "a", { ended_at: "2026-04-10T08:59:58.5Z" })]);
  const [call] = await callsOf(projectId);
  expect(call).toMatchObject({ ended_at: "2026-04-10T08:59:58.500000Z", summary: { weave: { status: "success" } } });
  expect(call?.summary.weave.latency_ms).toBe(-1500);
  const stats = await post("/calls/stats", {
    project_id: projectId,
    start: "2026-04-10T00:00:00Z",
    end: "2026-04-11T00:00:00Z",
    call_metrics: [{ metric: "latency_ms", aggregations: ["avg", "min", "max"], percentiles: [50] }],
  });
  expect(stats.status).toBe(200);
});

test("clocks from 1900 to 2299 are kept to the microsecond; beyond, the item is refused alone", async () => {
  const projectId = newProject();
  const times = {
    a: "1900-01-01T00:00:00.000001Z",
    b: "1969-12-31T23:59:59.999999Z",
    c: "1970-01-01T00:00:00.000000Z",
    d: "2038-01-19T03:14:08.000000Z",
    e: "2106-02-07T06:28:16.000000Z",
    f: "2262-04-11T23:47:16.854776Z",
    g: "2299-12-31T23:59:59.999999Z",
  };
  const good = Object.entries(times).flatMap(([id, time]) => [
    begin(projectId, id, { started_at: time }),
    finish(projectId, id, { ended_at: time }),
  ]);
  const beyond = [
    "1899-12-31T23:59:59.999999Z",
    "2300-01-01T00:00:00Z",
    "0000-01-01",
    "9999-12-31T23:59:59Z",
    -1e12,
    1e18,
    1e308,
  ];
  const unreadable = ["yesterday", "", "2026-02-30T00:00:00Z", "2026-04-10T25:00:00Z", "NaN", "1e5"];
  const bad = [...beyond, ...unreadable].map((startedAt, index) =>
    begin(projectId, `bad${index}`, { started_at: startedAt }),
  );
  const words = await upsert([...bad, ...good]);
  expect(words).toEqual([
    ...beyond.map(() => "value_error"),
    ...unreadable.map(() => "datetime_parsing"),
    ...good.map(() => "stored"),
  ]);
  const calls = await callsOf(projectId);
  expect(Object.fromEntries(calls.map(({ id, started_at }) => [id, started_at]))).toEqual(times);
  expect(calls.map(({ ended_at }) => ended_at)).toEqual(Object.values(times));
  expect(
    (
      await post("/calls/query", {
        project_id: projectId,
        limit: 1,
        sort_by: [{ field: "started_at", direction: "desc" }],
      })
    ).body,
  ).toMatchObject({
    calls: [{ id: "g" }],
  });
});

test("one batch over 110 months is stored whole", async () => {
  const projectId = newProject();
  const at = (month: number) => new Date(Date.UTC(2016, month, 1)).toISOString();
  const months = Array.from({ length: 110 }, (_, month) => month);
  const batch = months.map((month) => ({
    ...begin(projectId, `m${month}`).req.start,
    started_at: at(month),
    ended_at: at(month),
    output: month,
    summary: {},
  }));
  const [entity, project] = projectId.split("/");
  expect(await post(`/v2/${entity}/${project}/calls/complete`, { batch })).toEqual({ status: 200, body: {} });
  expect((await callsOf(projectId)).map(({ output }) => output)).toEqual(months);
  // The starts and ends of 110 months too, and ends that say nothing of when their calls began.
  expect(
    new Set(await upsert(months.map((month) => begin(projectId, `h${month}`, { started_at: at(month) })))),
  ).toEqual(new Set(["stored"]));
  expect(new Set(await upsert(months.map((month) => finish(projectId, `h${month}`, { ended_at: at(month) }))))).toEqual(
    new Set(["stored"]),
  );
  expect(await callsOf(projectId)).toHaveLength(220);
});

test("one batch of two thousand projects is stored whole: old calls, starts, ends, and all of it again", async () => {
  const projects = Array.from({ length: 2000 }, () => newProject());
  const stored = new Set(["stored"]);

  const starts = projects.map((projectId) => begin(projectId, "call", { started_at: "2016-04-10T09:00:00Z" }));
  const ends = projects.map((projectId) => finish(projectId, "call"));
  const early = projects.map((projectId) => finish(projectId, newId()));
  for (const batch of [starts, early, ends, ends, starts]) expect(new Set(await upsert(batch))).toEqual(stored);
  for (const projectId of projects.filter((_, index) => index % 500 === 0)) {
    expect(await callsOf(projectId)).toMatchObject([
      { id: "call", output: "call", started_at: "2016-04-10T09:00:00.000000Z" },
    ]);
  }
  const feedback = projects.slice(0, 1000).map((projectId) => ({
    project_id: projectId,
    id: newId(),
    weave_ref: `weave:///${projectId}/call/call`,
    feedback_type: "note",
    payload: { note: projectId },
  }));
  const { status, body } = await post("/feedback/batch/create", { batch: feedback });
  expect(status, JSON.stringify(body)).toBe(200);
  expect((await post("/feedback/batch/create", { batch: feedback })).body).toEqual(body);
  const [first] = feedback;
  const changed = [{ ...first, payload: { note: "other" } }];
  expect((await post("/feedback/batch/create", { batch: changed })).status).toBe(409);
});

test("whatever is wrong with an item, its neighbours are stored", async () => {
  const projectId = newProject();
  const start = begin(projectId, "x").req.start;
  const bad: unknown[] = [
    null,
    1,
    "text",
    [],
    {},
    { mode: "start" },
    { mode: "start", req: null },
    { mode: "middle", req: { start } },
    { mode: "end", req: { start } },
    { req: {} },
    ...["project_id", "op_name", "started_at", "attributes", "inputs"].flatMap((name) =>
      [undefined, null, true, [], 1.5e300].map((value) => ({ req: { start: { ...start, [name]: value } } })),
    ),
    ...["id", "trace_id", "parent_id", "thread_id", "display_name"].flatMap((name) =>
      [1, [], {}, "x".repeat(1_000_000)].map((value) => ({ req: { start: { ...start, [name]: value } } })),
    ),
    ...[-1, 1.5, 2 ** 64, 1e300, "1"].map((wbRunStep) => ({ req: { start: { ...start, wb_run_step: wbRunStep } } })),
    { req: { start: { ...start, id: "" } } },
    { req: { start: { ...start, trace_id: "" } } },
    { req: { start: { ...start, project_id: "no slash" } } },
    { req: { start: { ...start, project_id: "a\0b/c" } } },
    ...[null, [], "text", 1].map((summary) => finish(projectId, "x", { summary })),
  ];
  const batch = bad.flatMap((item, index) => [item, begin(projectId, `good${index}`)]);
  const words = await upsert(batch);
  const wrong = bad.filter((_, index) => words[index * 2] === "stored");
  expect(wrong).toEqual([]);
  expect(words.filter((word) => word === "stored")).toHaveLength(bad.length);
  expect((await callsOf(projectId)).map(({ id }) => id).toSorted()).toEqual(
    bad.map((_, index) => `good${index}`).toSorted(),
  );
});

test("an empty batch, and one of twenty thousand items that are not calls, get a response", async () => {
  expect(await upsert([])).toEqual([]);
  expect(new Set(await upsert(Array.from({ length: 20_000 }, () => 0)))).not.toContain("stored");
});

test("what a batch of spans cannot store is reported, and the other spans are stored", async () => {
  const projectId = newProject();
  const [entity = "", project = ""] = projectId.split("/");
  const span = (id: number, more: Item = {}) => ({
    traceId: "ab".repeat(16),
    spanId: id.toString(16).padStart(16, "0"),
    name: "chat",
    startTimeUnixNano: "1775811600000000000",
    endTimeUnixNano: "1775811601000000000",
    ...more,
  });
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const resource = (name: string, spans: Item[]) => ({
    resource: { attributes: [text("wandb.entity", entity), text("wandb.project", name)] },
    scopeSpans: [{ spans }],
  });
  const answer = await post("/otel/v1/traces", {
    resourceSpans: [
      resource("a\0b", [span(1)]),
      resource("", [span(2)]),
      resource(project, [
        span(3),
        span(4, { traceId: "00".repeat(16) }),
        span(5, { spanId: "not hex" }),
        span(6, { startTimeUnixNano: "18446744073709551615" }),
        span(7, { endTimeUnixNano: "1" }),
        span(8, { name: "" }),
        span(9, { name: "x".repeat(1_000_000) }),
        span(10, { attributes: [text("a", "1"), text("a.b", "2")] }),
        span(11, { attributes: Array.from({ length: 100_000 }, (_, index) => text(`k.${index}.${index}`, "v")) }),
        span(12, {
          attributes: [text("__proto__.polluted", "1"), text("constructor.prototype.polluted", "1"), text("", "x")],
        }),
      ]),
    ],
  });
  expect(answer.status).toBe(200);
  expect("polluted" in {}).toBe(false);
  expect(answer.body).toMatchObject({ partialSuccess: { errorMessage: expect.any(String) } });
  const stored = (await callsOf(projectId)).map(({ id }) => Number.parseInt(id, 16)).toSorted((a, b) => a - b);
  expect(stored).toEqual([3, 7, 8, 9, 10, 11, 12]);
});

test("a batch of calls of 2,000 projects is stored, whether they are new, end or are sent again", async () => {
  const entity = newProject().split("/")[0] ?? "";
  const projects = Array.from({ length: 2000 }, (_, n) => `${entity}/many-${n}`);
  const stored = projects.map(() => "stored");
  expect(await upsert(projects.map((projectId) => begin(projectId, "c")))).toEqual(stored);
  expect(await upsert(projects.map((projectId) => finish(projectId, "c")))).toEqual(stored);
  // Long ago, so that what is stored of each has to be looked up.
  expect(await upsert(projects.map((projectId) => begin(projectId, "c", { inputs: { n: 2 } })))).toEqual(stored);
  for (const projectId of [projects[0], projects[1999]]) {
    const calls = await callsOf(projectId ?? "");
    expect(calls).toMatchObject([{ id: "c", output: "c", inputs: { n: 2 } }]);
  }
}, 60_000);
