import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { listCalls, listIds } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import type { CallsQuery } from "./calls.js";
import type { TraceStore } from "../store.js";

const t0 = 1_775_811_600_000_000n;
const second = 1_000_000n;
const db = testDatabase();
let store: TraceStore;
const projectId = newProject();
const ref = (kind: string, tail: string) => `weave:///${projectId}/${kind}/${tail}`;
const at = (seconds: number) => ({ started_at: t0 + BigInt(seconds) * second });
const lasting = (seconds: number, ms: number) => ({ ended_at: t0 + BigInt(seconds) * second + BigInt(ms) * 1000n });

beforeAll(async () => {
  store = await db.open();
  await store.ingest([
    completePart(
      {
        project_id: projectId,
        id: "a",
        trace_id: "t1",
        op_name: ref("op", "answer:v1"),
        ...at(0),
        wb_user_id: "u1",
        inputs: '{"n":5,"m":{"x":"hi"}}',
      },
      { ...lasting(0, 1000), output: '{"score":0.5}' },
    ),
    completePart(
      {
        project_id: projectId,
        id: "b",
        trace_id: "t1",
        parent_id: "a",
        op_name: ref("op", "answer:v2"),
        ...at(1),
        thread_id: "h",
        turn_id: "b",
        inputs: '{"n":"10","list":[1,{"k":"deep"}]}',
      },
      { ...lasting(1, 30), output: '"plain text"', exception: "ValueError: no" },
    ),
    completePart(
      {
        project_id: projectId,
        id: "c",
        trace_id: "t2",
        op_name: "plain",
        ...at(2),
        wb_run_id: "e/p/run",
        wb_run_step: 3,
        inputs: `{"n":"x","model":"${ref("object", "m:d1")}"}`,
      },
      { ...lasting(2, 5), output: "[1,2,3]", summary: '{"status_counts":{"success":1,"error":2}}' },
    ),
    startPart({
      project_id: projectId,
      id: "d",
      trace_id: "t3",
      op_name: "plain",
      ...at(3),
      wb_run_id: `${projectId}/own`,
      inputs: `{"n":null,"data":["${ref("object", "m:d2")}"]}`,
      attributes: '{"a.b":{"0":"zero"}}',
    }),
    completePart(
      {
        project_id: projectId,
        id: "e",
        trace_id: "t4",
        op_name: "weave:///other/p/op/answer:v1",
        ...at(4),
        inputs: "{}",
      },
      { ...lasting(4, 0), output: `"${ref("object", "o:d9")}"` },
    ),
  ]);
});
afterAll(() => db.drop());

const ids = (request: Omit<CallsQuery, "project_id">) => listIds(store, { project_id: projectId, ...request });
const where = ($expr: unknown) => ids({ query: { $expr } });
const field = (path: string) => ({ $getField: path });
const literal = (value: unknown) => ({ $literal: value });

describe("a filter finds", () => {
  it.each<[string, CallsQuery["filter"], string[]]>([
    ["an exact op", { op_names: [ref("op", "answer:v1")] }, ["a"]],
    ["all versions of an op", { op_names: [ref("op", "answer:*")] }, ["a", "b"]],
    ["the bare name of an op", { op_names: ["answer"] }, ["a", "b"]],
    ["a ref without version", { op_names: [ref("op", "answer")] }, ["a", "b"]],
    ["a plain op name", { op_names: ["plain"] }, ["c", "d"]],
    ["one of several kinds of op names", { op_names: ["plain", ref("op", "answer:*")] }, ["a", "b", "c", "d"]],
    ["an input ref", { input_refs: [ref("object", "m:d1")] }, ["c"]],
    ["all versions of an input ref", { input_refs: [ref("object", "m:*")] }, ["c", "d"]],
    ["no version of a longer name", { input_refs: [ref("object", "mm:*")] }, []],
    ["an output ref", { output_refs: [ref("object", "x:1"), ref("object", "o:*")] }, ["e"]],
    ["parents", { parent_ids: ["a"] }, ["b"]],
    ["traces", { trace_ids: ["t1", "t3"] }, ["a", "b", "d"]],
    ["ids", { call_ids: ["e", "missing", "d"] }, ["d", "e"]],
    ["threads and turns", { thread_ids: ["h"], turn_ids: ["b"] }, ["b"]],
    ["roots", { trace_roots_only: true }, ["a", "c", "d", "e"]],
    ["users", { wb_user_ids: ["u1"] }, ["a"]],
    ["runs", { wb_run_ids: ["e/p/run"] }, ["c"]],
    ["a bare run id in this project", { wb_run_ids: ["own", "run"] }, ["d"]],
    ["bare and full run ids", { wb_run_ids: ["own", "e/p/run"] }, ["c", "d"]],
    ["everything when its lists are empty", { op_names: [], trace_ids: [], call_ids: [] }, ["a", "b", "c", "d", "e"]],
    ["what all its members ask for", { trace_ids: ["t1"], trace_roots_only: true }, ["a"]],
  ])("%s", async (_name, filter, expected) => {
    expect(await ids({ filter })).toEqual(expected);
    expect(await ids({ filter, limit: 10 })).toEqual(expected);
    expect((await store.calls.count({ project_id: projectId, filter })).count).toBe(expected.length);
  });

  it("calls by 1,000 entries of 250 characters in every list", async () => {
    const long = (prefix: string) =>
      Array.from({ length: 999 }, (_, index) => `${prefix}${String(index).padStart(250 - prefix.length, "x")}`);
    const refs = long("weave:///e/p/object/");
    const found = await ids({
      filter: {
        op_names: [
          ...long("weave:///e/p/op/").map((name, index) => (index % 2 ? `${name}:*` : name)),
          ref("op", "answer:*"),
        ],
        input_refs: [...refs.map((name, index) => (index % 2 ? `${name}:*` : name)), ref("object", "m:d1")],
      },
    });
    expect(found).toEqual([]);
    const everywhere = await ids({
      filter: {
        call_ids: [...long("id"), "c"],
        trace_ids: [...long("t"), "t2"],
        op_names: [...long("plain"), "plain"],
        input_refs: [...refs, ref("object", "m:d1")],
        wb_run_ids: [...long("r"), "e/p/run"],
      },
    });
    expect(everywhere).toEqual(["c"]);
  });
});

describe("a query", () => {
  it("compares numbers in JSON, written as numbers or text, and never matches what is none", async () => {
    expect(await where({ $gt: [field("inputs.n"), literal(4)] })).toEqual(["a", "b"]);
    expect(await where({ $not: [{ $gt: [field("inputs.n"), literal(4)] }] })).toEqual([]);
    expect(await where({ $eq: [field("inputs.n"), literal("5")] })).toEqual(["a"]);
    expect(await where({ $lt: [field("output.score"), literal(1)] })).toEqual(["a"]);
  });

  it("distinguishes absent, empty and null", async () => {
    expect(await where({ $eq: [field("inputs.n"), literal(null)] })).toEqual(["d", "e"]);
    expect(await where({ $eq: [{ $convert: { input: field("inputs.n"), to: "exists" } }, literal(true)] })).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect(await where({ $eq: [field("thread_id"), literal(null)] })).toEqual(["a", "c", "d", "e"]);
    expect(await where({ $not: [{ $eq: [field("thread_id"), literal("h")] }] })).toEqual([]);
    expect(await where({ $eq: [field("ended_at"), literal(null)] })).toEqual(["d"]);
  });

  it("follows lists, numeric keys and keys with dots", async () => {
    expect(await where({ $eq: [field("inputs.list.1.k"), literal("deep")] })).toEqual(["b"]);
    expect(await where({ $eq: [field("attributes.a\\.b.0"), literal("zero")] })).toEqual(["d"]);
    expect(await where({ $eq: [field("output.2"), literal(3)] })).toEqual(["c"]);
    expect(await where({ $eq: [{ $size: field("output") }, literal(3)] })).toEqual(["c"]);
  });

  it("finds computed fields", async () => {
    expect(await where({ $eq: [field("summary.weave.status"), literal("error")] })).toEqual(["b"]);
    expect(await where({ $eq: [field("summary.weave.status"), literal("descendant_error")] })).toEqual(["c"]);
    expect(await where({ $in: [field("summary.weave.status"), [literal("running"), literal("success")]] })).toEqual([
      "a",
      "d",
      "e",
    ]);
    expect(await where({ $gte: [field("summary.weave.latency_ms"), literal(30)] })).toEqual(["a", "b"]);
    expect(await where({ $eq: [field("summary.weave.trace_name"), literal("answer")] })).toEqual(["a", "b", "e"]);
  });

  it("compares times given as text and as seconds", async () => {
    expect(await where({ $gte: [field("started_at"), literal("2026-04-10T09:00:03Z")] })).toEqual(["d", "e"]);
    expect(await where({ $lt: [field("started_at"), literal(Number(t0 / second) + 1)] })).toEqual(["a"]);
    expect(await where({ $lte: [field("ended_at"), literal("2026-04-10T11:00:01.03+02:00")] })).toEqual(["a", "b"]);
  });

  it("finds parts of texts", async () => {
    const contains = (input: unknown, substr: string, caseInsensitive = false) =>
      where({ $contains: { input, substr: literal(substr), case_insensitive: caseInsensitive } });
    expect(await contains(field("output"), "text")).toEqual(["b"]);
    expect(await contains(field("output"), "PLAIN", true)).toEqual(["b"]);
    expect(await contains(field("exception"), "Value")).toEqual(["b"]);
    expect(await contains(field("inputs.m"), '{"x":"hi"}')).toEqual(["a"]);
  });

  it("matches nothing in refs of feedback and queues that there are none of, also when negated", async () => {
    for (const path of ["feedback.[note].runnable_ref", "annotation_queue_items.queue_id"]) {
      expect(await where({ $eq: [field(path), literal("x")] })).toEqual([]);
      expect(await where({ $not: [{ $eq: [field(path), literal("x")] }] })).toEqual([]);
    }
  });

  it("names an unknown field before anything is read", () => {
    const request = { project_id: projectId, query: { $expr: { $eq: [field("storage_size_bytes"), literal(1)] } } };
    expect(() => store.calls.query(request)).toThrowError(
      expect.objectContaining({ code: "unprocessable", loc: ["query", "$expr", "$eq", 0, "$getField"] }),
    );
  });
});

describe("an order", () => {
  const sorted = (sortField: string, direction: "asc" | "desc", more: Partial<CallsQuery> = {}) =>
    ids({ sort_by: [{ field: sortField, direction }], ...more });

  it.each<[string, asc: string[], desc: string[]]>([
    ["started_at", ["a", "b", "c", "d", "e"], ["e", "d", "c", "b", "a"]],
    // Numbers, then texts, then what is absent; what is equal by id, backwards.
    ["inputs.n", ["a", "b", "c", "e", "d"], ["b", "a", "c", "e", "d"]],
    ["summary.weave.latency_ms", ["e", "c", "b", "a", "d"], ["a", "b", "c", "e", "d"]],
    ["summary.weave.status", ["c", "b", "d", "e", "a"], ["e", "a", "d", "b", "c"]],
    ["ended_at", ["a", "b", "c", "e", "d"], ["e", "c", "b", "a", "d"]],
    ["thread_id", ["b", "e", "d", "c", "a"], ["b", "e", "d", "c", "a"]],
    ["wb_run_step", ["c", "e", "d", "b", "a"], ["c", "e", "d", "b", "a"]],
    ["feedback.[*].payload.x", ["e", "d", "c", "b", "a"], ["e", "d", "c", "b", "a"]],
  ])("by %s puts absent values last", async (path, asc, desc) => {
    for (const more of [{}, { limit: 5 }]) {
      expect(await sorted(path, "asc", more)).toEqual(asc);
      expect(await sorted(path, "desc", more)).toEqual(desc);
    }
  });

  it("takes several keys and pages through them", async () => {
    const sortBy: CallsQuery["sort_by"] = [
      { field: "op_name", direction: "asc" },
      { field: "started_at", direction: "desc" },
    ];
    const all = await ids({ sort_by: sortBy });
    expect(all).toEqual(["d", "c", "a", "b", "e"].toSorted((x, y) => all.indexOf(x) - all.indexOf(y)));
    expect(all.slice(0, 2)).toEqual(["d", "c"]);
    const pages = [];
    for (let offset = 0; offset < 6; offset += 2) pages.push(...(await ids({ sort_by: sortBy, limit: 2, offset })));
    expect(pages).toEqual(all);
    expect(await ids({ sort_by: sortBy, offset: 3 })).toEqual(all.slice(3));
    expect(await ids({ sort_by: [], limit: 2 })).toEqual(["a", "b"]);
    expect(await ids({ limit: 0 })).toEqual([]);
  });
});

describe("what is shown", () => {
  it("leaves out the columns that were not asked for", async () => {
    const [call] = await listCalls(store, {
      project_id: projectId,
      filter: { call_ids: ["b"] },
      columns: ["inputs.n", "parent_id"],
    });
    expect(call).toMatchObject({
      id: "b",
      trace_id: "t1",
      op_name: ref("op", "answer:v2"),
      started_at: t0 + second,
      parent_id: "a",
    });
    expect(call).toMatchObject({
      inputs: '{"n":"10","list":[1,{"k":"deep"}]}',
      output: "null",
      attributes: "{}",
      summary: "{}",
      exception: null,
    });
    const [summed] = await listCalls(store, {
      project_id: projectId,
      filter: { call_ids: ["b"] },
      columns: ["summary"],
    });
    expect(summed).toMatchObject({ exception: "ValueError: no", ended_at: t0 + second + 30_000n, inputs: "{}" });
  });

  it("adds sizes of calls, and of traces to their roots", async () => {
    const options = { include_storage_size: true, include_total_storage_size: true };
    const calls = await listCalls(store, {
      project_id: projectId,
      filter: { trace_ids: ["t1"] },
      columns: ["id"],
      ...options,
    });
    const [root, child] = calls;
    const sizes = calls.map((call) => call.storage_size_bytes ?? 0);
    expect(sizes[0]).toBe('{"n":5,"m":{"x":"hi"}}{}{"score":0.5}{}'.length);
    expect(root?.total_storage_size_bytes).toBe((sizes[0] ?? 0) + (sizes[1] ?? 0));
    expect(child?.total_storage_size_bytes).toBeNull();
    expect(await store.calls.read({ project_id: projectId, id: "a", ...options })).toMatchObject({
      total_storage_size_bytes: root?.total_storage_size_bytes,
    });
    expect(
      await store.calls.count({
        project_id: projectId,
        filter: { trace_ids: ["t1"] },
        include_total_storage_size: true,
      }),
    ).toEqual({
      count: 2,
      total_storage_size_bytes: root?.total_storage_size_bytes,
    });
  });

  it("counts no further than the limit", async () => {
    expect(await store.calls.count({ project_id: projectId, limit: 2 })).toEqual({
      count: 2,
      total_storage_size_bytes: null,
    });
    expect(await store.calls.count({ project_id: newProject(), limit: 1 })).toEqual({
      count: 0,
      total_storage_size_bytes: null,
    });
    await expect(store.calls.count({ project_id: projectId, limit: 0 })).rejects.toMatchObject({
      code: "invalid",
      loc: ["limit"],
    });
  });
});

describe("a long list", () => {
  const projectId = newProject();
  beforeAll(async () => {
    const parts = Array.from({ length: 3000 }, (_, index) =>
      completePart({
        project_id: projectId,
        id: `c${String(index).padStart(5, "0")}`,
        started_at: t0 + BigInt(index % 700) * second,
        inputs: `{"i":${index},"pad":"${"x".repeat(2000)}"}`,
      }),
    );
    await store.ingest(parts);
  });

  it("comes completely and in order, in one stream or by pages", async () => {
    const all = await listIds(store, { project_id: projectId });
    expect(all).toHaveLength(3000);
    expect(new Set(all).size).toBe(3000);
    const sortBy: CallsQuery["sort_by"] = [{ field: "inputs.i", direction: "desc" }];
    expect((await listIds(store, { project_id: projectId, sort_by: sortBy, limit: 1200, offset: 5 }))[0]).toBe(
      "c02994",
    );
    expect(await listIds(store, { project_id: projectId, limit: 900, offset: 50 })).toEqual(all.slice(50, 950));
    expect(await listIds(store, { project_id: projectId, limit: 1500, offset: 100 })).toEqual(all.slice(100, 1600));
  });

  it("stops when the reader leaves, and when it is aborted", async () => {
    let read = 0;
    for await (const _ of store.calls.query({ project_id: projectId })) if (++read === 10) break;
    expect(read).toBe(10);
    const controller = new AbortController();
    const reading = (async () => {
      for await (const _ of store.calls.query({ project_id: projectId }, { signal: controller.signal }))
        controller.abort();
    })();
    await expect(reading).rejects.toThrow(/abort/i);
  });
});

it("many lists at once, each with lookups of its own, do not wait for each other", async () => {
  const projectId = newProject();
  const trace = (index: number) => `t${index % 50}`;
  const parts = Array.from({ length: 1500 }, (_, index) =>
    completePart({ project_id: projectId, id: `c${index}`, trace_id: trace(index) }),
  );
  await store.ingest(parts);
  await store.calls.rename(projectId, "c7", "seven");
  const one = async () => {
    let named = 0;
    for await (const call of store.calls.query({ project_id: projectId, include_total_storage_size: true })) {
      if (call.display_name === "seven" && (call.total_storage_size_bytes ?? 0) > 0) named++;
    }
    return named;
  };
  // As many as there are slots for reads.
  expect(await Promise.all(Array.from({ length: 10 }, one))).toEqual(Array.from({ length: 10 }, () => 1));
});
