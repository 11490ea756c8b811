import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { completePart, endPart, newProject, nowUs, startPart } from "../../test/call-parts.js";
import { listCalls, listIds } from "../../test/list-calls.js";
import { recordedReads } from "../../test/recorded-reads.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";
import type { CallsQuery } from "../calls/calls.js";

const db = testDatabase();
const t0 = 1_775_811_600_000_000n;
const reads = recordedReads();
let store: TraceStore;

beforeAll(async () => {
  store = await db.open({ wrapEngine: reads.wrap });
});
afterAll(() => db.drop());
beforeEach(() => reads.reset());

const readsTable = () => reads.readsTable("call_parts");

/** A page, which must not read the table of running calls, and the same calls of a stream, which does. */
async function expectAsStream(request: CallsQuery, from = 0, to = 100): Promise<void> {
  const all = await listCalls(store, request);
  reads.reset();
  expect(await listCalls(store, { ...request, offset: from, limit: to - from })).toEqual(all.slice(from, to));
  expect(readsTable()).toBe(false);
}

it("a page has running calls as a stream has them, in every column, order and part", async () => {
  const projectId = newProject();
  const odd = "tab\t, line\n, \r, back\\slash, \\n, \\N, 'quote', \"\u{1F9F5}\", {p0:String}, \u0001";
  const ids = ["a", "B", "\u{10000}", "\u{ffff}", odd, "z"].flatMap((name) => [1, 2, 3].map((n) => `${name}${n}`));
  await store.ingest(
    ids.map((id, n) => {
      const inputs = n % 5 === 0 ? `{"a":${"[".repeat(3000)}${"]".repeat(3000)},"n":${n}}` : JSON.stringify({ odd, n });
      const optional = {
        parent_id: odd,
        thread_id: "\\N",
        turn_id: odd,
        display_name: odd,
        wb_user_id: odd,
        wb_run_id: "e/p/r",
        wb_run_step: 9_007_199_254_740_991,
      };
      const fields = { project_id: projectId, id, op_name: odd, started_at: t0 + BigInt((n % 4) * 1_000_000), inputs };
      const call = { ...fields, ...(n % 2 === 0 ? optional : {}), attributes: '{"b":1.0}' };
      return n % 3 === 0 ? completePart(call) : startPart(call);
    }),
  );
  for (const direction of ["asc", "desc"] as const) {
    const request: CallsQuery = { project_id: projectId, sort_by: [{ field: "started_at", direction }] };
    for (const [from, to] of [
      [0, 100],
      [0, 5],
      [4, 11],
      [16, 19],
    ] as const) {
      await expectAsStream(request, from, to);
    }
    await expectAsStream({ ...request, columns: ["inputs.n", "parent_id"], include_storage_size: true });
    await expectAsStream({ ...request, columns: ["id"] });
  }
});

it("filters find the same running calls in memory as in the table", async () => {
  const projectId = newProject();
  const op = "weave:///acme/demo/op/answer";
  const varied = [
    { op_name: `${op}:v1` },
    { op_name: `${op}:v2`, parent_id: "p" },
    { op_name: op, wb_user_id: "u" },
    { op_name: "a:b", thread_id: "h", turn_id: "w" },
    { wb_run_id: `${projectId}/run`, trace_id: "t" },
    { wb_run_id: "run", trace_id: "t" },
    { wb_run_id: "other/project/run" },
  ];
  await store.ingest(
    varied.flatMap((fields, n) => [
      startPart({ ...fields, project_id: projectId, id: `running${n}`, started_at: t0 + BigInt(n) }),
      completePart({ ...fields, project_id: projectId, id: `complete${n}`, started_at: t0 + BigInt(n) }),
    ]),
  );
  for (const filter of [
    {},
    { op_names: [`${op}:v1`] },
    { op_names: [`${op}:*`] },
    { op_names: [`${op}:*`, "a:b"] },
    { parent_ids: ["p"] },
    { trace_ids: ["t", "none"] },
    { thread_ids: ["h"] },
    { turn_ids: ["w"] },
    { wb_user_ids: ["u"] },
    { wb_run_ids: ["run"] },
    { wb_run_ids: ["other/project/run"] },
    { trace_roots_only: true },
    { call_ids: ["running1", "complete1", "running4", "none"] },
    { trace_roots_only: true, wb_user_ids: ["u"], op_names: [op] },
  ]) {
    const found = await listIds(store, { project_id: projectId, filter });
    expect(found.some((id) => id.startsWith("running"))).toBe(true);
    expect(await listIds(store, { project_id: projectId, filter, limit: 50 })).toEqual(found);
  }
  expect(await listIds(store, { project_id: projectId, filter: { op_names: ["a:*"] }, limit: 50 })).toEqual([]);
  reads.reset();
  expect(await listIds(store, { project_id: projectId, filter: { input_refs: ["weave:///x"] }, limit: 50 })).toEqual(
    [],
  );
  expect(readsTable()).toBe(true);
});

it("deleted, expired and renamed running calls are so in memory, too", async () => {
  const projectId = newProject();
  const start = (id: string, startedAt: bigint) =>
    startPart({ project_id: projectId, id, started_at: startedAt, display_name: "x" });
  await store.ingest([start("old", nowUs() - 259_200_000_000n), start("deleted", nowUs()), start("kept", nowUs())]);
  await store.calls.delete(projectId, ["deleted"], "user");
  await expectAsStream({ project_id: projectId });
  expect(await listIds(store, { project_id: projectId, limit: 10 })).toEqual(["old", "kept"]);
  await store.retention.update(projectId, 1, "user");
  expect(await listIds(store, { project_id: projectId, limit: 10 })).toEqual(["kept"]);
  await store.calls.rename(projectId, "kept", "new");
  const named = (name: string) => ({ $expr: { $eq: [{ $getField: "display_name" }, { $literal: name }] } });
  expect(await listCalls(store, { project_id: projectId, limit: 10 })).toMatchObject([{ display_name: "new" }]);
  expect(await listIds(store, { project_id: projectId, query: named("new"), limit: 10 })).toEqual(["kept"]);
  expect(await listIds(store, { project_id: projectId, query: named("x"), limit: 10 })).toEqual([]);
});

it("a call that ends while a page is read is there once, complete", async () => {
  const projectId = newProject();
  await store.ingest(["one", "two"].map((id) => startPart({ project_id: projectId, id })));
  reads.beforeNextRows = async () => {
    await store.ingest(["one", "two"].map((id) => endPart({ project_id: projectId, id })));
  };
  const calls = await listCalls(store, { project_id: projectId, limit: 10 });
  expect(calls.map(({ id, status }) => `${id} ${status}`).toSorted()).toEqual(["one success", "two success"]);
});

it("many or large running calls, and long queries, are left to the table", async () => {
  const read = async (projectId: string, request: Partial<CallsQuery> = {}) => {
    reads.reset();
    const { length } = await listIds(store, { project_id: projectId, limit: 2000, ...request });
    return { length, readsTable: readsTable() };
  };
  const isRunning = { $eq: [{ $getField: "summary.weave.status" }, { $literal: "running" }] };
  const query = { $expr: isRunning };
  const ofPayload = { $expr: { $eq: [{ $getField: "inputs.text" }, { $literal: "x".repeat(10) }] } };
  const long = { $expr: { $and: Array.from({ length: 30 }, () => isRunning) } };
  const projectOf = async (calls: number, inputBytes: number) => {
    const projectId = newProject();
    const inputs = JSON.stringify({ text: "x".repeat(inputBytes) });
    await store.ingest(Array.from({ length: calls }, () => startPart({ project_id: projectId, inputs })));
    return projectId;
  };
  const small = await projectOf(3, 10);
  const page = { limit: 100 };
  expect(await read(small, page)).toEqual({ length: 3, readsTable: false });
  expect(await read(small, { ...page, query })).toEqual({ length: 3, readsTable: false });
  expect(await read(small, { ...page, query: ofPayload })).toEqual({ length: 3, readsTable: true });
  expect(await read(small, { ...page, query: long })).toEqual({ length: 3, readsTable: true });
  const large = await projectOf(3, 200_000);
  expect(await read(large, page)).toEqual({ length: 3, readsTable: false });
  expect(await read(large, { ...page, query })).toEqual({ length: 3, readsTable: false });
  expect(await read(await projectOf(3, 1_500_000), page)).toEqual({ length: 3, readsTable: true });
  expect(await read(await projectOf(1001, 1), page)).toEqual({ length: 100, readsTable: true });
});

it("running calls of which memory lost one are read from the table", async () => {
  const projectId = newProject();
  const small = await db.open({ wrapEngine: reads.wrap, limits: { openSideCacheBytes: 1500 } });
  const ids = ["a", "b", "c"];
  await small.ingest(ids.map((id) => startPart({ project_id: projectId, id, started_at: t0 })));
  expect(await listIds(small, { project_id: projectId, limit: 10 })).toEqual(ids);
  expect(readsTable()).toBe(true);
  await small.ingest([endPart({ project_id: projectId, id: "a" })]);
  reads.reset();
  expect(await listIds(small, { project_id: projectId, limit: 10 })).toEqual(ids);
  expect(readsTable()).toBe(false);
  await small.close();
  const later = await db.open({ wrapEngine: reads.wrap });
  reads.reset();
  expect(await listIds(later, { project_id: projectId, limit: 10 })).toEqual(ids);
  expect(readsTable()).toBe(true);
  await later.close();
});
