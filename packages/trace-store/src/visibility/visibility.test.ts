import { newId } from "@heddle/trace-model";
import { afterAll, beforeAll, expect, it } from "vitest";
import { completePart, endPart, newProject, nowUs, startPart } from "../../test/call-parts.js";
import { listCalls, listIds } from "../../test/list-calls.js";
import { recordedReads } from "../../test/recorded-reads.js";
import { testDatabase } from "../../test/store.js";
import type { CallsQuery } from "../calls/calls.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await db.open();
});
afterAll(() => db.drop());

/** Every read must agree on how often a call is there. */
async function seen(
  projectId: string,
  id: string,
): Promise<{ pages: number; streams: number; ids: number; count: number; read: boolean }> {
  const times = (ids: readonly string[]) => ids.filter((found) => found === id).length;
  return {
    pages: times(await listIds(store, { project_id: projectId, limit: 100 })),
    streams: times(await listIds(store, { project_id: projectId })),
    ids: times(await listIds(store, { project_id: projectId, filter: { call_ids: [id] } })),
    count: (await store.calls.count({ project_id: projectId, filter: { call_ids: [id] } })).count,
    read: (await store.calls.read({ project_id: projectId, id })) !== undefined,
  };
}
const once = { pages: 1, streams: 1, ids: 1, count: 1, read: true };
const never = { pages: 0, streams: 0, ids: 0, count: 0, read: false };

it("a running call is seen, without an end", async () => {
  const projectId = newProject();
  await store.ingest([startPart({ project_id: projectId, id: "r", inputs: '{"a":1.0}' })]);
  expect(await seen(projectId, "r")).toEqual(once);
  expect(await store.calls.read({ project_id: projectId, id: "r" })).toMatchObject({
    status: "running",
    ended_at: null,
    latency_us: null,
    inputs: '{"a":1.0}',
    output: "null",
    summary: "{}",
  });
});

it("a call that ends is seen once, with both sides", async () => {
  const projectId = newProject();
  const startedAt = nowUs();
  await store.ingest([startPart({ project_id: projectId, id: "c", started_at: startedAt, inputs: '{"q": "x"}' })]);
  await store.ingest([
    endPart({ project_id: projectId, id: "c", ended_at: startedAt + 1_234_567n, output: "1e400", exception: "boom" }),
  ]);
  expect(await seen(projectId, "c")).toEqual(once);
  expect(await store.calls.read({ project_id: projectId, id: "c" })).toMatchObject({
    status: "error",
    latency_us: 1_234_567n,
    inputs: '{"q": "x"}',
    output: "1e400",
    exception: "boom",
  });
});

it("running calls that memory counts are as many as are listed, whatever became of them", async () => {
  const projectId = newProject();
  const reads = recordedReads();
  const other = await db.open({ wrapEngine: reads.wrap });
  const counted = async () => {
    reads.reset();
    const { count } = await other.calls.count({ project_id: projectId });
    expect((await other.calls.count({ project_id: projectId, limit: 2 })).count).toBe(Math.min(2, count));
    const readsRunning = reads.readsTable("call_parts");
    expect(await listIds(other, { project_id: projectId })).toHaveLength(count);
    return { count, readsRunning };
  };
  const start = (id: string) => startPart({ project_id: projectId, id });
  await other.ingest([...["a", "b", "c", "d"].map(start), completePart({ project_id: projectId, id: "e" })]);
  expect(await counted()).toEqual({ count: 5, readsRunning: false });
  await other.ingest([
    start("a"),
    endPart({ project_id: projectId, id: "b" }),
    endPart({ project_id: projectId, id: "f" }),
  ]);
  expect(await counted()).toEqual({ count: 5, readsRunning: false });
  await other.calls.delete(projectId, ["c", "e"], "ann");
  expect(await counted()).toEqual({ count: 3, readsRunning: false });
  other.engineRestarted();
  expect(await counted()).toMatchObject({ count: 3 });
  // What has expired is left out by its start, which only the table has.
  await other.retention.update(projectId, 30, "ann");
  expect(await counted()).toEqual({ count: 3, readsRunning: true });
  await other.close();
});

it("running calls are looked for in the traces that have some", async () => {
  const projectId = newProject();
  const reads = recordedReads();
  // Without this, running calls are found in memory.
  const limits = { openSideCacheBytes: 0 };
  let other = await db.open({ wrapEngine: reads.wrap, limits });
  const read = async (traceId: string, limit?: number) => {
    reads.reset();
    const ids = await listIds(other, { project_id: projectId, filter: { trace_ids: [traceId] }, limit });
    return { ids, readsRunning: reads.readsTable("call_parts") };
  };
  const inTrace = (id: string, traceId: string) => ({ project_id: projectId, id, trace_id: traceId });
  await other.ingest([
    startPart(inTrace("a", "open")),
    completePart(inTrace("b", "open")),
    startPart(inTrace("c", "over")),
    completePart(inTrace("d", "over")),
  ]);
  await other.ingest([endPart({ project_id: projectId, id: "c" })]);
  for (const store of ["the same", "another"]) {
    if (store === "another") {
      await other.close();
      other = await db.open({ wrapEngine: reads.wrap, limits });
    }
    for (const limit of [undefined, 10]) {
      expect(await read("over", limit)).toEqual({ ids: ["c", "d"], readsRunning: false });
      expect(await read("open", limit)).toEqual({ ids: ["a", "b"], readsRunning: true });
    }
  }
  await other.ingest([endPart({ project_id: projectId, id: "a" })]);
  expect(await read("open")).toEqual({ ids: ["a", "b"], readsRunning: false });
  await other.close();
});

it("an end without a start is not seen", async () => {
  const projectId = newProject();
  await store.ingest([endPart({ project_id: projectId, id: "e" })]);
  expect(await seen(projectId, "e")).toEqual(never);
});

it("a call sent again is seen once, as it was sent last", async () => {
  const projectId = newProject();
  const id = newId();
  const startedAt = nowUs();
  const first = completePart({ project_id: projectId, id, started_at: startedAt, inputs: '{"n":1}' });
  await store.ingest([first]);
  await store.ingest([first]);
  await store.ingest([completePart({ project_id: projectId, id, started_at: startedAt, inputs: '{"n":2}' })]);
  await store.ingest([
    completePart({ project_id: projectId, id, started_at: startedAt - 5_000_000n, inputs: '{"n":3}' }),
  ]);
  expect(await seen(projectId, id)).toEqual(once);
  const inputs = (await listCalls(store, { project_id: projectId, limit: 10 })).map((call) => call.inputs);
  expect(inputs).toEqual(['{"n":3}']);
  const query = { $expr: { $lt: [{ $getField: "inputs.n" }, { $literal: 3 }] } };
  expect(await listIds(store, { project_id: projectId, query })).toEqual([]);
  expect(await store.calls.count({ project_id: projectId, query })).toMatchObject({ count: 0 });
});

it("a deleted call is not visible, nor are its descendants, also after compaction", async () => {
  const projectId = newProject();
  await store.ingest([
    completePart({ project_id: projectId, id: "root", trace_id: "t" }),
    completePart({ project_id: projectId, id: "child", trace_id: "t", parent_id: "root" }),
    startPart({ project_id: projectId, id: "running-child", trace_id: "t", parent_id: "child" }),
    completePart({ project_id: projectId, id: "other", trace_id: "u" }),
  ]);
  await store.calls.delete(projectId, ["root"], "user");
  for (const id of ["root", "child", "running-child"]) expect(await seen(projectId, id)).toEqual(never);
  await store.maintain(true);
  expect(await seen(projectId, "child")).toEqual(never);
  expect(await listIds(store, { project_id: projectId })).toEqual(["other"]);
  expect((await store.calls.count({ project_id: projectId })).count).toBe(1);
});

it("a renamed call shows, filters and sorts by its new name", async () => {
  const projectId = newProject();
  await store.ingest([
    completePart({ project_id: projectId, id: "a", display_name: "zebra", started_at: 1_775_811_600_000_000n }),
    completePart({ project_id: projectId, id: "b", display_name: "mouse", started_at: 1_775_811_601_000_000n }),
    startPart({ project_id: projectId, id: "c", op_name: "lion", started_at: 1_775_811_602_000_000n }),
  ]);
  await store.calls.rename(projectId, "a", "ant");
  await store.calls.rename(projectId, "b", "");
  expect((await listCalls(store, { project_id: projectId })).map((call) => call.display_name)).toEqual([
    "ant",
    null,
    null,
  ]);
  expect(await store.calls.read({ project_id: projectId, id: "a" })).toMatchObject({ display_name: "ant" });
  const named = (name: string | null) => ({ $expr: { $eq: [{ $getField: "display_name" }, { $literal: name }] } });
  expect(await listIds(store, { project_id: projectId, query: named("ant") })).toEqual(["a"]);
  expect(await listIds(store, { project_id: projectId, query: named("zebra") })).toEqual([]);
  expect(await listIds(store, { project_id: projectId, query: named(null) })).toEqual(["b", "c"]);
  const byName: CallsQuery["sort_by"] = [{ field: "summary.weave.trace_name", direction: "asc" }];
  expect(await listIds(store, { project_id: projectId, sort_by: byName, limit: 10 })).toEqual(["b", "a", "c"]);
  expect(
    await listIds(store, { project_id: projectId, sort_by: [{ field: "display_name", direction: "desc" }] }),
  ).toEqual(["a", "c", "b"]);
});

it("another project's call with the same id is another call", async () => {
  const [mine, theirs] = [newProject(), newProject()];
  await store.ingest([
    completePart({ project_id: mine, id: "same", trace_id: "t", inputs: '"mine"' }),
    completePart({ project_id: theirs, id: "same", trace_id: "t", inputs: '"theirs"' }),
    startPart({ project_id: theirs, id: "running", trace_id: "t" }),
  ]);
  expect(await store.calls.read({ project_id: mine, id: "same" })).toMatchObject({ inputs: '"mine"' });
  expect(await store.calls.read({ project_id: mine, id: "running" })).toBeUndefined();
  expect(await listIds(store, { project_id: mine, filter: { trace_ids: ["t"] } })).toEqual(["same"]);
  await store.calls.delete(mine, ["same"], "user");
  expect(await listIds(store, { project_id: theirs, sort_by: [{ field: "id", direction: "asc" }] })).toEqual([
    "running",
    "same",
  ]);
  const query = { $expr: { $eq: [{ $getField: "project_id" }, { $literal: theirs }] } };
  expect(await listIds(store, { project_id: mine, query })).toEqual([]);
});

it("nothing doubles or vanishes while calls end and are sent again", async () => {
  const projectId = newProject();
  const ids = Array.from({ length: 30 }, () => newId());
  await store.ingest(ids.map((id) => startPart({ project_id: projectId, id })));
  const progress = { writing: true };
  const writes = (async () => {
    for (let round = 0; round < 4; round++) {
      for (let from = 0; from < ids.length; from += 10) {
        const some = ids.slice(from, from + 10);
        await store.ingest(
          some.map((id) =>
            round === 0
              ? endPart({ project_id: projectId, id })
              : completePart({ project_id: projectId, id, inputs: `{"round":${round}}` }),
          ),
        );
      }
    }
    progress.writing = false;
  })();
  const wrong: unknown[] = [];
  while (progress.writing) {
    const [page, { count }] = await Promise.all([
      listIds(store, { project_id: projectId, limit: 500 }),
      store.calls.count({ project_id: projectId }),
    ]);
    if (page.length !== ids.length || new Set(page).size !== ids.length || count !== ids.length) {
      wrong.push({ page: page.length, different: new Set(page).size, count });
    }
  }
  await writes;
  expect(wrong).toEqual([]);
});
