import { newId } from "@heddle/trace-model";
import { afterAll, describe, expect, it, vi } from "vitest";
import { completePart, newProject, nowUs, startPart } from "../../test/call-parts.js";
import { listCalls } from "../../test/list-calls.js";
import { recordedReads } from "../../test/recorded-reads.js";
import { testDatabase } from "../../test/store.js";
import type { CallsQuery } from "../calls/calls.js";
import type { Engine } from "../engine/engine.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
afterAll(() => db.drop());
const reads = recordedReads();
let store: TraceStore;

/** Long ago, as a start sees it. */
const from = nowUs() - 3_600_000_000n;
const newestFirst: CallsQuery["sort_by"] = [{ field: "started_at", direction: "desc" }];
/** The same order, which only the tables have. */
const byTables: CallsQuery["sort_by"] = [...newestFirst, { field: "id", direction: "desc" }];

async function reopen(limits = {}): Promise<void> {
  if ((store as TraceStore | undefined) !== undefined) await store.close();
  const wrapEngine = (engine: Engine): Engine => {
    const recorded = reads.wrap(engine);
    return {
      ...recorded,
      async *stream(statement, options) {
        yield* recorded.stream(statement, options);
        const afterwards = afterNextStream;
        afterNextStream = undefined;
        await afterwards?.();
      },
    };
  };
  store = await db.open({ wrapEngine, limits });
}

/** Runs once, when all rows of a stream have been read. */
let afterNextStream: (() => Promise<unknown>) | undefined;

async function asksEngine(read: () => Promise<unknown>): Promise<boolean> {
  reads.reset();
  await read();
  return reads.sent.length > 0;
}

/** A page of the newest calls until memory has it. */
async function untilInMemory(projectId: string, limit: number): Promise<void> {
  const page = async () => await listCalls(store, { project_id: projectId, sort_by: newestFirst, limit });
  await vi.waitFor(async () => expect(await asksEngine(page)).toBe(false), { timeout: 20_000 });
}

async function expectAsInTables(request: CallsQuery): Promise<void> {
  const all = await listCalls(store, { ...request, sort_by: byTables });
  expect(await listCalls(store, { ...request, sort_by: newestFirst })).toEqual(all);
}

const odd = "tab\t, line\n, \r, back\\slash, \\n, \\N, 'quote', \"\u{1F9F5}\", {p0:String}, \u0001";
const unsafe = '{"n":123456789012345678901234567890,"s":"it\'s \\\\ \\ud800"}';

const call = (projectId: string, n: number, more = {}) => ({
  project_id: projectId,
  id: `${["a", "\u{10000}", "\u{ffff}", odd][n % 4]}${n}`,
  started_at: from + BigInt(n % 7),
  ...more,
});

describe("after a start", () => {
  it("the newest calls are read back once, whole, and those of a small project are all there is", async () => {
    await reopen();
    const [projectId, other] = [newProject(), newProject()];
    await store.ingest(
      Array.from({ length: 40 }, (_, n) => {
        const stated = n % 2 === 0 ? { parent_id: odd, thread_id: "\\N", wb_run_step: 7, display_name: odd } : {};
        const inputs = n % 3 === 0 ? unsafe : JSON.stringify({ odd });
        const start = call(projectId, n, { ...stated, inputs, op_name: n % 4 === 0 ? odd : "x.score" });
        const exception = n % 5 === 0 ? { exception: odd } : {};
        return completePart(start, { output: unsafe, summary: '{"usage":{"m":{"prompt_tokens":1}}}', ...exception });
      }),
    );
    await store.ingest([completePart(call(other, 1))]);
    const before = await listCalls(store, { project_id: projectId, sort_by: byTables });
    await reopen();
    expect(await asksEngine(() => listCalls(store, { project_id: projectId, sort_by: newestFirst, limit: 5 }))).toBe(
      true,
    );
    await untilInMemory(projectId, 40);
    const ofAll = (more: Partial<CallsQuery>) => ({
      project_id: projectId,
      sort_by: newestFirst,
      limit: 1000,
      ...more,
    });
    expect(await listCalls(store, ofAll({}))).toEqual(before);
    const op = { op_names: ["x.score"] };
    const errors = { $expr: { $eq: [{ $getField: "summary.weave.status" }, { $literal: "error" }] } };
    for (const request of [ofAll({}), ofAll({ filter: op }), ofAll({ query: errors })]) {
      const whole = await listCalls(store, { ...request, sort_by: byTables });
      let found: unknown;
      const asked = await asksEngine(async () => (found = await listCalls(store, request)));
      expect([request, asked, reads.sent.map(({ sql }) => sql)]).toEqual([request, false, []]);
      expect(found).toEqual(whole);
    }
    for (const one of before.slice(0, 5)) {
      let found: unknown;
      const read = async () => (found = await store.calls.read({ project_id: projectId, id: one.id }));
      expect(await asksEngine(read)).toBe(false);
      expect(found).toEqual(one);
    }
    // What is written then is there as well, and of nobody else.
    await store.ingest([completePart(call(projectId, 100, { started_at: from - 10n }))]);
    await store.calls.delete(projectId, [before[3]?.id ?? ""], "user");
    await expectAsInTables(ofAll({}));
    expect(await listCalls(store, { project_id: other, sort_by: newestFirst, limit: 10 })).toHaveLength(1);
  });

  it("what is replaced, deleted or written while they are read back is not shown as it was", async () => {
    await reopen();
    const projectId = newProject();
    const id = (n: number) => call(projectId, n).id;
    await store.ingest(Array.from({ length: 12 }, (_, n) => completePart(call(projectId, n))));
    const changes: Array<() => Promise<unknown>> = [
      async () => await store.calls.delete(projectId, [id(3)], "user"),
      async () => await store.ingest([completePart(call(projectId, 5), { output: '"again"' })]),
      async () => await store.ingest([completePart(call(projectId, 20, { id: newId(), started_at: from + 90n }))]),
      async () => await store.ingest([completePart(call(projectId, 6, { started_at: from + 80n }))]),
    ];
    for (const change of changes) {
      await reopen();
      const changed = new Promise((resolve) => {
        afterNextStream = async () => resolve(await change());
      });
      await listCalls(store, { project_id: projectId, sort_by: newestFirst, limit: 3 });
      await changed;
      for (const limit of [3, 100]) {
        const request = { project_id: projectId, limit };
        const all = await listCalls(store, { ...request, sort_by: byTables });
        expect(await listCalls(store, { ...request, sort_by: newestFirst })).toEqual(all);
      }
    }
  });

  it("no more is read back than memory may take of a project, and what is older is found in the tables", async () => {
    await reopen();
    const projectId = newProject();
    const inputs = JSON.stringify("x".repeat(1000));
    await store.ingest(
      Array.from({ length: 60 }, (_, n) =>
        completePart({ ...call(projectId, n, { inputs }), started_at: from + BigInt(n) }),
      ),
    );
    await reopen({ newestCallBytes: 160_000 });
    await listCalls(store, { project_id: projectId, sort_by: newestFirst, limit: 5 });
    await untilInMemory(projectId, 5);
    expect(store.load().memory.newest_calls).toBeLessThan(160_000);
    await expectAsInTables({ project_id: projectId, limit: 40 });
    await expectAsInTables({ project_id: projectId, limit: 60 });
  });
});

describe("a trace", () => {
  const trace = (traceId: string, projectId: string): CallsQuery => ({
    project_id: projectId,
    filter: { trace_ids: [traceId] },
  });
  const payloadsAreRead = () => reads.sent.some(({ sql }) => sql.includes("inputs"));

  it("of the newest calls is read whole out of memory once it is known that no other call has its id", async () => {
    await reopen();
    const projectId = newProject();
    const ofTrace = (traceId: string, n: number, at: bigint) =>
      call(projectId, n, { trace_id: traceId, started_at: at, inputs: JSON.stringify({ n }) });
    // An hour ago, which a start does not have in memory.
    await store.ingest([...Array(6).keys()].map((n) => completePart(ofTrace("split", n, from + BigInt(n)))));
    await reopen();
    const now = nowUs();
    await store.ingest([
      ...[10, 11, 12].map((n) => completePart(ofTrace("split", n, now + BigInt(n)))),
      ...[20, 21, 22, 23].map((n) => completePart(ofTrace("new", n, now + BigInt(n % 3)), { output: unsafe })),
      startPart(ofTrace("new", 24, now + 50n)),
    ]);
    reads.reset();
    expect(await listCalls(store, { ...trace("new", projectId), sort_by: newestFirst })).toHaveLength(5);
    expect([reads.sent.length, payloadsAreRead()]).toEqual([1, false]);
    await expectAsInTables(trace("new", projectId));
    reads.reset();
    expect(await listCalls(store, { ...trace("split", projectId), sort_by: newestFirst })).toHaveLength(9);
    expect(payloadsAreRead()).toBe(true);
    for (const traceIds of [
      ["split", "new"],
      ["new", "absent"],
      ["new", "new"],
    ]) {
      await expectAsInTables({ project_id: projectId, filter: { trace_ids: traceIds } });
    }
    for (const page of [{ limit: 2 }, { limit: 2, offset: 2 }, { offset: 4 }, { limit: 10 }]) {
      await expectAsInTables({ ...trace("new", projectId), ...page });
    }
    const ascending: CallsQuery["sort_by"] = [{ field: "started_at", direction: "asc" }];
    const forwards = await listCalls(store, { ...trace("new", projectId), sort_by: ascending });
    expect(forwards.toReversed()).toEqual(await listCalls(store, { ...trace("new", projectId), sort_by: byTables }));
    await expectAsInTables({
      project_id: projectId,
      filter: { trace_ids: ["new"], op_names: ["none"] },
    });
    const running = { $expr: { $eq: [{ $getField: "summary.weave.status" }, { $literal: "running" }] } };
    await expectAsInTables({ ...trace("new", projectId), query: running });
  });

  it("stays right while its calls end, are replaced, renamed and deleted, and get older ones", async () => {
    await reopen();
    const projectId = newProject();
    const now = nowUs();
    const one = (n: number, at = now) => call(projectId, n, { trace_id: "t", started_at: at + BigInt(n) });
    await store.ingest([...[1, 2, 3, 4].map((n) => completePart(one(n))), startPart(one(5))]);
    const id = (n: number) => call(projectId, n).id;
    const changes: Array<() => Promise<unknown>> = [
      async () => await store.ingest([completePart(one(5), { output: '"ended"' })]),
      async () => await store.ingest([completePart(one(1), { output: '"again"' })]),
      async () => await store.calls.rename(projectId, id(2), "a name"),
      async () => await store.calls.delete(projectId, [id(3)], "user"),
      async () => await store.ingest([completePart(one(4, now + 30n))]),
      async () => await store.maintain(true),
      async () => await store.ingest([completePart(one(9, from))]),
    ];
    for (const change of changes) {
      await change();
      await expectAsInTables(trace("t", projectId));
    }
    expect(await listCalls(store, trace("t", projectId))).toHaveLength(5);
  });

  it("that gets an older call while it is asked whether there are any has it", async () => {
    await reopen();
    const projectId = newProject();
    await store.ingest([1, 2].map((n) => completePart(call(projectId, n, { trace_id: "t", started_at: nowUs() }))));
    reads.reset();
    reads.beforeNextRows = async () => void (await store.ingest([completePart(call(projectId, 3, { trace_id: "t" }))]));
    expect(await listCalls(store, { ...trace("t", projectId), sort_by: newestFirst })).toHaveLength(3);
  });
});
