import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected).toEqual([]));

const at = (second: number) => new Date(Date.UTC(2026, 3, 10, 9, 0, second)).toISOString();

function startOf(projectId: string, id: string, more: object = {}) {
  return {
    project_id: projectId,
    id,
    trace_id: `t-${id}`,
    op_name: "answer",
    started_at: at(0),
    attributes: {},
    inputs: { q: "hi" },
    ...more,
  };
}
function endOf(projectId: string, id: string, more: object = {}) {
  return { project_id: projectId, id, ended_at: at(2), output: "hello", summary: {}, ...more };
}
async function list(projectId: string, more: object = {}) {
  const calls = [];
  for await (const call of service.tracing().callsQueryStream({ project_id: projectId, ...more })) calls.push(call);
  return calls;
}
/** One request as text, for what an ordinary client would normalise away. */
async function post(path: string, body: string, headers: Record<string, string> = {}) {
  return service.fetch(`http://in-process${path}`, {
    method: "POST",
    body,
    headers: { authorization: `Bearer ${service.owner_key}`, ...headers },
  });
}

test("a call is readable at once, running first and finished later", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  const id = randomUUID();
  await tracing.callStart({ start: startOf(projectId, id) });
  expect((await tracing.callRead({ project_id: projectId, id })).call).toMatchObject({
    id,
    ended_at: null,
    summary: { weave: { status: "running", trace_name: "answer" } },
  });
  await tracing.callEnd({ end: endOf(projectId, id, { summary: { usage: { m: { prompt_tokens: 3 } } } }) });
  expect((await tracing.callRead({ project_id: projectId, id })).call).toMatchObject({
    output: "hello",
    started_at: "2026-04-10T09:00:00.000000Z",
    ended_at: "2026-04-10T09:00:02.000000Z",
    wb_user_id: expect.any(String),
    summary: { usage: { m: { prompt_tokens: 3 } }, weave: { status: "success", latency_ms: 2000 } },
  });
  expect(await list(projectId)).toHaveLength(1);
});

test("an end may come before its start, and a repeated batch changes nothing", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  const batch = [
    { mode: "end" as const, req: { end: endOf(projectId, "a") } },
    { mode: "start" as const, req: { start: startOf(projectId, "b") } },
  ];
  expect((await tracing.callStartBatch({ batch })).res).toEqual([{}, { id: "b", trace_id: "t-b" }]);
  expect((await list(projectId)).map((call) => call.id)).toEqual(["b"]);
  await tracing.callStartBatch({ batch: [{ mode: "start", req: { start: startOf(projectId, "a") } }] });
  await tracing.callStartBatch({ batch });
  await tracing.callStartBatch({ batch });
  expect((await list(projectId)).map((call) => [call.id, call.output])).toEqual([
    ["a", "hello"],
    ["b", null],
  ]);
  expect(await tracing.callsQueryStats({ project_id: projectId })).toMatchObject({ count: 2 });
});

test("a bad item of a batch has an error at its index and its neighbours are stored", async () => {
  const projectId = newProject();
  const answer = await post(
    "/call/upsert_batch",
    JSON.stringify({
      batch: [
        { mode: "start", req: { start: startOf(projectId, "good") } },
        { mode: "start", req: { start: { project_id: projectId, id: "bad" } } },
        { mode: "start", req: { start: startOf(projectId, "x".repeat(257)) } },
        { mode: "start", req: { start: startOf(projectId, "early", { started_at: "1812-01-01T00:00:00Z" }) } },
        { req: { end: endOf(projectId, "good") } },
        "nonsense",
        { req: { end: endOf("no project id", "bad") } },
      ],
    }),
  );
  expect(answer.status).toBe(200);
  const { res } = (await answer.json()) as { res: { error?: { loc: (string | number)[] } }[] };
  expect(res.map((entry) => entry.error?.loc.slice(0, 3) ?? "stored")).toEqual([
    "stored",
    ["body", "batch", 1],
    ["body", "batch", 2],
    ["body", "batch", 3],
    "stored",
    ["body", "batch", 5],
    ["body", "batch", 6],
  ]);
  expect(res[3]?.error?.loc).toEqual(["body", "batch", 3, "req", "start", "started_at"]);
  expect(res[6]?.error?.loc).toEqual(["body", "batch", 6, "req", "end", "project_id"]);
  expect((await list(projectId)).map((call) => call.id)).toEqual(["good"]);
});

test("free JSON comes back exactly as it was sent", async () => {
  const projectId = newProject();
  const texts = [
    `{"b": 1.0,"a":18446744073709551616, "c":[ 1e400 ]}`,
    `{"k":1,"k":2,"__proto__":{"x":1},"constructor":null}`,
    `{"lone":"\\ud800","snow":"\\u2603","slash":"\\/","tab":"\\t"}`,
    `{"big":-0.0,"e":1E-07}`,
  ];
  for (const [index, text] of texts.entries()) {
    const start = `{"project_id":"${projectId}","id":"c${index}","trace_id":"t","op_name":"op","started_at":${index},"attributes":${text},"inputs":${text}}`;
    expect((await post("/call/start", `{"start":${start}}`)).status).toBe(200);
    const end = `{"project_id":"${projectId}","id":"c${index}","ended_at":10,"output":${text},"summary":{}}`;
    expect((await post("/call/end", `{"end":${end}}`)).status).toBe(200);
    const read = await (await post("/call/read", JSON.stringify({ project_id: projectId, id: `c${index}` }))).text();
    expect(read).toContain(`"attributes":${text}`);
    expect(read).toContain(`"inputs":${text}`);
    expect(read).toContain(`"output":${text}`);
    const { call } = await service.tracing().callRead({ project_id: projectId, id: `c${index}` }, { raw: true });
    expect([call?.inputs.text, call?.output?.text]).toEqual([text, text]);
  }
});

test("bare NaN and Infinity are accepted and read back as null", async () => {
  const projectId = newProject();
  const start = `{"project_id":"${projectId}","id":"n","trace_id":"t","op_name":"op","started_at":1,"attributes":{},"inputs":{"x":NaN,"y":[-Infinity,"NaN"]}}`;
  expect((await post("/call/start", `{"start":${start}}`)).status).toBe(200);
  const read = await (await post("/call/read", JSON.stringify({ project_id: projectId, id: "n" }))).text();
  expect(read).toContain(`"inputs":{"x":null,"y":[null,"NaN"]}`);
});

test("nulls, unknown keys, a missing Content-Type, double slashes and the /traces prefix are all fine", async () => {
  const projectId = newProject();
  const start = {
    ...startOf(projectId, "n"),
    parent_id: null,
    display_name: null,
    wb_run_step: null,
    newer_field: { a: 1 },
  };
  const body = JSON.stringify({ start });
  for (const path of ["/call/start", "//call/start", "/traces/call/start"]) {
    const answer = await post(path, body, { "content-type": "" });
    expect([path, answer.status]).toEqual([path, 200]);
  }
  expect(await list(projectId)).toHaveLength(1);
});

test("a retried request without ids is the same request", async () => {
  const projectId = newProject();
  const { id: _id, trace_id: _trace, ...start } = startOf(projectId, "unused");
  const send = async () => (await post("/call/start", JSON.stringify({ start }), { "X-Weave-Retry-Id": "r-1" })).json();
  expect(await send()).toEqual(await send());
  expect(await list(projectId)).toHaveLength(1);
});

test("rename, delete with descendants, and a late part of a deleted call", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  const batch = ["root", "child", "grandchild", "other"].map((id, index, ids) => ({
    mode: "start" as const,
    req: {
      start: startOf(projectId, id, {
        trace_id: "t",
        parent_id: index === 1 || index === 2 ? ids[index - 1] : undefined,
      }),
    },
  }));
  await tracing.callStartBatch({ batch });
  await tracing.callUpdate({ project_id: projectId, call_id: "other", display_name: "my name" });
  expect((await tracing.callRead({ project_id: projectId, id: "other" })).call).toMatchObject({
    display_name: "my name",
    summary: { weave: { trace_name: "my name" } },
  });
  await tracing.callUpdate({ project_id: projectId, call_id: "other", display_name: "" });
  expect((await tracing.callRead({ project_id: projectId, id: "other" })).call?.display_name).toBeNull();

  expect(await tracing.callsDelete({ project_id: projectId, call_ids: ["root"] })).toEqual({ num_deleted: 3 });
  await tracing.callEnd({ end: endOf(projectId, "child") });
  expect((await list(projectId)).map((call) => call.id)).toEqual(["other"]);
  expect((await tracing.callRead({ project_id: projectId, id: "child" })).call).toBeNull();
  await expect(
    tracing.callsDelete({ project_id: projectId, call_ids: Array.from({ length: 1001 }, String) }),
  ).rejects.toMatchObject({ status: 413 });
});

test("query, filter and sort over a stream, with a page", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  const batch = Array.from({ length: 20 }, (_, n) => [
    {
      mode: "start" as const,
      req: { start: startOf(projectId, `c${n}`, { started_at: at(n), inputs: { n, kind: n % 2 ? "odd" : "even" } }) },
    },
    {
      mode: "end" as const,
      req: { end: endOf(projectId, `c${n}`, { ended_at: at(n + 1), ...(n === 7 && { exception: "boom" }) }) },
    },
  ]).flat();
  await tracing.callStartBatch({ batch });
  const ids = async (more: object) => (await list(projectId, more)).map((call) => call.id);

  expect(await ids({ sort_by: [{ field: "started_at", direction: "desc" }], limit: 3, offset: 1 })).toEqual([
    "c18",
    "c17",
    "c16",
  ]);
  expect(
    await ids({ query: { $expr: { $eq: [{ $getField: "summary.weave.status" }, { $literal: "error" }] } } }),
  ).toEqual(["c7"]);
  expect(
    await ids({
      query: {
        $expr: {
          $and: [
            { $gt: [{ $getField: "inputs.n" }, { $literal: 15 }] },
            { $eq: [{ $getField: "inputs.kind" }, { $literal: "odd" }] },
          ],
        },
      },
      sort_by: [{ field: "inputs.n", direction: "desc" }],
    }),
  ).toEqual(["c19", "c17"]);
  expect(await ids({ filter: { call_ids: ["c3", "c4", "missing"] } })).toEqual(["c3", "c4"]);
  expect(await tracing.callsQuery({ project_id: projectId, limit: 2 })).toMatchObject({
    calls: [{ id: "c0" }, { id: "c1" }],
  });

  const long = Array.from(
    { length: 1000 },
    (_, n) => `weave:///acme/p/object/${"o".repeat(200)}:${String(n).padStart(25, "0")}`,
  );
  expect(await ids({ filter: { input_refs: long, output_refs: long, op_names: long, call_ids: long } })).toEqual([]);
});

test("an unknown field, an empty $and and a negative limit have errors of their own", async () => {
  const projectId = newProject();
  const refused = (more: object) =>
    list(projectId, more).then(
      () => "accepted",
      (error: { status: number }) => error.status,
    );
  expect(await refused({ query: { $expr: { $eq: [{ $getField: "storage_size_bytes" }, { $literal: 1 }] } } })).toBe(
    422,
  );
  expect(await refused({ query: { $expr: { $and: [] } } })).toBe(400);
  expect(await refused({ filter: { unknown: 1 } })).toBe(422);
  expect(await refused({ sort_by: [{ field: "started_at", order: "asc" }] })).toBe(422);
  await expect(service.tracing().callStats({ project_id: projectId, start: "yesterday" })).rejects.toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body", "start"] }] },
  });
});

test("statistics and usage", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  const usage = { m: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8, requests: 1 } };
  const less = { m: { prompt_tokens: 2, completion_tokens: 4, total_tokens: 6, requests: 1 } };
  await tracing.callStartBatch({
    batch: [
      { mode: "start", req: { start: startOf(projectId, "p", { trace_id: "t" }) } },
      { mode: "end", req: { end: endOf(projectId, "p", { summary: { usage } }) } },
      { mode: "start", req: { start: startOf(projectId, "k", { trace_id: "t", parent_id: "p" }) } },
      { mode: "end", req: { end: endOf(projectId, "k", { summary: { usage: less }, exception: "x" }) } },
    ],
  });
  const stats = await tracing.callStats({
    project_id: projectId,
    start: at(0),
    end: at(300),
    usage_metrics: [{ metric: "total_tokens" }],
    call_metrics: [{ metric: "latency_ms", aggregations: ["avg"], percentiles: [95] }, { metric: "error_count" }],
  });
  expect(stats).toMatchObject({ granularity: 300, timezone: "UTC" });
  expect(stats.usage_buckets).toEqual([
    { timestamp: "2026-04-10T09:00:00.000000Z", model: "m", sum_total_tokens: 14, count: 2 },
  ]);
  expect(stats.call_buckets?.[0]).toMatchObject({
    avg_latency_ms: 2000,
    p95_latency_ms: 2000,
    sum_error_count: 1,
    count: 2,
  });

  expect((await tracing.callsUsage({ project_id: projectId, call_ids: ["p", "gone"] })).call_usage).toMatchObject({
    p: { m: { total_tokens: 14 } },
    gone: {},
  });
  expect((await tracing.traceUsage({ project_id: projectId, filter: { trace_ids: ["t"] } })).call_usage).toMatchObject({
    p: { m: { total_tokens: 14 } },
    k: { m: { total_tokens: 6 } },
  });
});

test("of repeated keys a query sees the value that readers see", async () => {
  const projectId = newProject();
  const inputs = '{"k":"first","k":"second","list":[{"n":1,"n":2}]}';
  const start = JSON.stringify({ start: { ...startOf(projectId, "dup"), inputs: "INPUTS" } });
  expect((await post("/call/start", start.replace('"INPUTS"', inputs))).status).toBe(200);
  const found = async (path: string, value: unknown) => {
    const query = { $expr: { $eq: [{ $getField: path }, { $literal: value }] } };
    const { calls } = await service.tracing().callsQuery({ project_id: projectId, query });
    return calls.map(({ id }) => id);
  };
  expect([await found("inputs.k", "second"), await found("inputs.list.0.n", 2)]).toEqual([["dup"], ["dup"]]);
  expect([await found("inputs.k", "first"), await found("inputs.list.0.n", 1)]).toEqual([[], []]);
  const read = await post("/call/read", JSON.stringify({ project_id: projectId, id: "dup" }));
  expect(await read.text()).toContain(`"inputs":${inputs}`);
});

test("integers beyond 2^53 are compared exactly", async () => {
  const projectId = newProject();
  const start = JSON.stringify({ start: startOf(projectId, "ID") });
  const integers = {
    even: "9007199254740992",
    odd: "9007199254740993",
    unsigned: "18446744073709551615",
    text: '"9007199254740993"',
  };
  for (const [id, value] of Object.entries({ ...integers, fraction: "0.5", negative: "-9007199254740993" })) {
    const body = start.replace('"inputs":{', `"inputs":{"n":${value},`).replaceAll('"ID"', `"${id}"`);
    expect((await post("/call/start", body)).status).toBe(200);
  }
  const found = async (condition: string) => {
    const body = `{"project_id":"${projectId}","sort_by":[{"field":"id","direction":"asc"}],"query":{"$expr":${condition}}}`;
    const answer = (await (await post("/calls/query", body)).json()) as { calls: { id: string }[] };
    return answer.calls.map(({ id }) => id);
  };
  const compare = (operator: string, literal: string) =>
    found(`{"${operator}":[{"$getField":"inputs.n"},{"$literal":${literal}}]}`);
  expect(await compare("$eq", "9007199254740993")).toEqual(["odd", "text"]);
  expect(await compare("$eq", "9007199254740992")).toEqual(["even"]);
  expect(await compare("$eq", "-9007199254740993")).toEqual(["negative"]);
  expect(await compare("$gt", "9007199254740992")).toEqual(["odd", "text", "unsigned"]);
  expect(await compare("$lt", "9007199254740993")).toEqual(["even", "fraction", "negative"]);
  expect(await compare("$gte", "18446744073709551615")).toEqual(["unsigned"]);
  const inList = '{"$in":[{"$getField":"inputs.n"},[{"$literal":9007199254740993},{"$literal":0.5}]]}';
  expect(await found(inList)).toEqual(["fraction", "odd", "text"]);
  expect(await found(`{"$not":[${inList}]}`)).toEqual(["even", "negative", "unsigned"]);
  expect(await found('{"$gt":[{"$literal":9007199254740993},{"$getField":"wb_run_step"}]}')).toEqual([]);
});

test("a call whose body names another project than the path is refused", async () => {
  const [entity, project] = ["acme", `p-${randomUUID()}`];
  const complete = (projectId: string, id: string) => ({ ...startOf(projectId, id), ...endOf(projectId, id) });
  const send = async (path: string, body: object) => {
    const answer = await post(`/v2/${entity}/${project}/${path}`, JSON.stringify(body));
    return { status: answer.status, body: await answer.json() };
  };
  const foreign = (...loc: unknown[]) => ({ status: 422, body: { detail: [{ loc: ["body", ...loc, "project_id"] }] } });
  expect(await send("call/start", { start: startOf("acme/other", "s") })).toMatchObject(foreign("start"));
  expect(await send("call/end", { end: endOf("acme/other", "s") })).toMatchObject(foreign("end"));
  expect(await send("calls/complete", { batch: [complete("acme/other", "c")] })).toMatchObject(foreign("batch", 0));
  const batch = [complete("acme/other", "c"), complete(`${entity}/${project}`, "d")];
  expect(await send("calls/complete", { batch })).toMatchObject({
    status: 200,
    body: { errors: [{ index: 0, loc: ["body", "batch", 0, "project_id"] }] },
  });
  expect((await list(`${entity}/${project}`)).map(({ id }) => id)).toEqual(["d"]);
});

test("limits of texts count characters, not the units that a language counts, and errors name the item", async () => {
  const projectId = newProject();
  const emoji = "🧵";
  const start = {
    ...startOf(projectId, emoji.repeat(256)),
    trace_id: "t",
    op_name: emoji.repeat(128),
    thread_id: emoji.repeat(256),
  };
  expect(await (await post("/call/start", JSON.stringify({ start }))).json()).toMatchObject({ id: start.id });
  expect((await list(projectId)).map(({ id }) => id)).toEqual([emoji.repeat(256)]);
  const long = await post(
    "/call/upsert_batch",
    JSON.stringify({
      batch: ["a", emoji.repeat(257)].map((id) => ({ mode: "start", req: { start: startOf(projectId, id) } })),
    }),
  );
  expect(await long.json()).toMatchObject({
    res: [{ id: "a" }, { error: { loc: ["body", "batch", 1, "req", "start", "id"] } }],
  });
  const surrogate = JSON.stringify({ batch: [{ mode: "start", req: { start: startOf(projectId, "ID") } }] });
  const refused = await post("/call/upsert_batch", surrogate.replace('"ID"', '"\\ud800"'));
  expect(await refused.json()).toMatchObject({ res: [{ error: { loc: ["body", "batch", 0, "req", "start", "id"] } }] });
});

test("complete calls are stored item by item, and eager starts and ends join them", async () => {
  const [entity, project] = ["acme", `p-${randomUUID()}`];
  const projectId = `${entity}/${project}`;
  const tracing = service.tracing();
  const complete = { ...startOf(projectId, "c"), ...endOf(projectId, "c") };
  expect(await tracing.callsComplete({ entity, project, batch: [complete] })).toEqual({});
  const answer = await post(
    `/v2/${entity}/${project}/calls/complete`,
    JSON.stringify({ batch: [{ id: "bad" }, { ...complete, id: "d" }] }),
  );
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ errors: [{ index: 0, type: expect.any(String) }] });
  await tracing.callStartV2({ entity, project, start: startOf(projectId, "e") });
  await tracing.callEndV2({ entity, project, end: endOf(projectId, "e", { started_at: at(0) }) });
  expect((await list(projectId)).map((call) => [call.id, call.output])).toEqual([
    ["c", "hello"],
    ["d", "hello"],
    ["e", "hello"],
  ]);
});
