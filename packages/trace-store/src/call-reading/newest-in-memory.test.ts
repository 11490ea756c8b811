import { newId } from "@heddle/trace-model";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { completePart, endPart, newProject, nowUs, startPart } from "../../test/call-parts.js";
import { listCalls } from "../../test/list-calls.js";
import { recordedReads } from "../../test/recorded-reads.js";
import { testDatabase } from "../../test/store.js";
import type { TestDatabase } from "../../test/store.js";
import type { CallsQuery } from "../calls/calls.js";
import type { IngestLimits } from "../ingest/memory/state.js";
import type { TraceStore } from "../store.js";

const databases: TestDatabase[] = [];
let db: TestDatabase;
let store: TraceStore;
const reads = recordedReads();
afterAll(async () => {
  for (const one of databases) await one.drop();
});

async function open(limits: Partial<IngestLimits> = {}): Promise<void> {
  db = testDatabase();
  databases.push(db);
  store = await db.open({ wrapEngine: reads.wrap, limits });
}

async function reopen(): Promise<void> {
  await store.close();
  store = await db.open({ wrapEngine: reads.wrap });
}

const newestFirst: CallsQuery["sort_by"] = [{ field: "started_at", direction: "desc" }];
const minute = 60_000_000n;
const statusIs = (status: string): CallsQuery["query"] => ({
  $expr: { $eq: [{ $getField: "summary.weave.status" }, { $literal: status }] },
});

/** A page is the beginning of a stream, which reads the tables; and each call by its id. Returns whether the page asked the engine. */
async function pageAsStream(request: CallsQuery, limit: number): Promise<boolean> {
  const all = await listCalls(store, { ...request, sort_by: newestFirst });
  reads.reset();
  expect(await listCalls(store, { ...request, sort_by: newestFirst, limit })).toEqual(all.slice(0, limit));
  const wasAsked = reads.sent.length > 0;
  for (const call of request.columns === undefined ? all.slice(0, 2) : []) {
    expect(await store.calls.read({ project_id: request.project_id, id: call.id })).toEqual(call);
  }
  return wasAsked;
}

describe("the newest calls", () => {
  beforeEach(() => open());

  it("are read without a statement, in every column, order and selection, as the tables have them", async () => {
    const projectId = newProject();
    const odd = "tab\t, line\n, \r, back\\slash, \\n, \\N, 'quote', \"\u{1F9F5}\", {p0:String}, \u0001";
    const unsafe = '{"n":123456789012345678901234567890,"s":"it\'s \\\\ \\ud800"}';
    const from = nowUs();
    await store.ingest(
      Array.from({ length: 60 }, (_, n) => {
        const optional = {
          parent_id: odd,
          thread_id: "\\N",
          turn_id: odd,
          display_name: odd,
          wb_user_id: odd,
          wb_run_id: "e/p/r",
          wb_run_step: 9_007_199_254_740_991,
        };
        const call = {
          project_id: projectId,
          id: `${["a", "B", "\u{10000}", "\u{ffff}", odd][n % 5]}${n}`,
          op_name: n % 4 === 0 ? odd : "x.score",
          started_at: from + BigInt(n % 7),
          inputs: n % 3 === 0 ? unsafe : JSON.stringify({ odd, n }),
          attributes: '{"b":1.0}',
          ...(n % 2 === 0 ? optional : {}),
        };
        if (n % 11 === 0) return startPart(call);
        const usage = { usage: { m: { prompt_tokens: n } } };
        return completePart(call, {
          output: n % 5 === 0 ? unsafe : "null",
          summary: n % 6 === 0 ? JSON.stringify(usage) : "{}",
          ...(n % 4 === 1 ? { exception: `${odd}${"e".repeat(n * 40)}` } : {}),
          ...(n % 9 === 0 ? { wb_run_step_end: n } : {}),
        });
      }),
    );
    const field = (name: string) => ({ $getField: name });
    const requests: Array<Omit<CallsQuery, "project_id">> = [
      {},
      { columns: ["inputs.n", "parent_id"], include_storage_size: true },
      { columns: ["id"] },
      { filter: { trace_roots_only: true } },
      { filter: { parent_ids: [odd] } },
      { filter: { thread_ids: ["\\N"] } },
      { filter: { op_names: ["x.score"] } },
      { query: statusIs("error") },
      { query: statusIs("success"), filter: { wb_run_ids: ["r", "e/p/r"] } },
      { query: { $expr: { $eq: [field("display_name"), { $literal: odd }] } } },
      { query: { $expr: { $eq: [field("summary.weave.trace_name"), { $literal: odd }] } } },
      { query: { $expr: { $eq: [field("summary.weave.kind"), { $literal: "model" }] } } },
      { query: { $expr: { $eq: [field("summary.weave.kind"), { $literal: "scorer" }] } } },
      { query: { $expr: { $not: [{ $eq: [field("exception"), { $literal: null }] }] } } },
      { query: { $expr: { $eq: [field("wb_run_step"), { $literal: 9_007_199_254_740_991 }] } } },
    ];
    for (const request of requests) {
      expect([request, await pageAsStream({ ...request, project_id: projectId }, 4)]).toEqual([request, false]);
      // More than there are.
      await pageAsStream({ ...request, project_id: projectId }, 100);
    }
    for (const name of ["summary.weave.latency_ms", "ended_at", "wb_run_step_end"]) {
      await pageAsStream({ project_id: projectId, query: { $expr: { $gt: [field(name), { $literal: 0 }] } } }, 3);
    }
    await pageAsStream({ project_id: newProject() }, 5);
  });

  it("of megabytes are read a few megabytes at a time, as others are", async () => {
    const projectId = newProject();
    const inputs = JSON.stringify("x".repeat(1_500_000));
    await store.ingest([1, 2, 3, 4].map(() => completePart({ project_id: projectId, inputs })));
    let [now, most] = [0, 0];
    const reserve = async (bytes: number) => {
      most = Math.max(most, (now += bytes));
      return () => void (now -= bytes);
    };
    const request = { project_id: projectId, limit: 4, sort_by: newestFirst ?? [] };
    const lengths = [];
    for await (const call of store.calls.query(request, { reserve })) lengths.push(call.inputs.length);
    expect(lengths).toEqual([1, 2, 3, 4].map(() => inputs.length));
    expect([now, most < 4 * 1024 * 1024]).toEqual([0, true]);
  });

  it("stay right while calls are replaced, moved, renamed, deleted, and expire", async () => {
    const projectId = newProject();
    const other = newProject();
    const ids = Array.from({ length: 12 }, () => newId());
    const [changed, moved, away, named, deleted, running] = ids as [string, string, string, string, string, string];
    const from = nowUs();
    const call = (id: string, n: number) => ({ project_id: projectId, id, trace_id: id, started_at: from + BigInt(n) });
    const page = async () => await pageAsStream({ project_id: projectId }, 4);
    await store.ingest([
      ...ids.filter((id) => id !== running).map((id, n) => completePart(call(id, n))),
      startPart(call(running, 20)),
      ...ids.map((id) => completePart({ project_id: other, id, started_at: from })),
    ]);
    expect(await page()).toBe(false);
    await store.ingest([endPart({ project_id: projectId, id: changed, output: '"changed"' })]);
    await store.ingest([completePart({ ...call(moved, 30) })]);
    await store.ingest([completePart({ ...call(away, 0), started_at: from - 40n * minute })]);
    expect(await page()).toBe(false);
    expect((await store.calls.read({ project_id: projectId, id: changed }))?.output).toBe('"changed"');
    await store.ingest([endPart({ project_id: projectId, id: running, output: '"ended"' })]);
    expect(await page()).toBe(false);
    await store.calls.rename(projectId, named, "a name");
    await store.calls.delete(projectId, [deleted, moved], "user");
    await page();
    for (const forced of [false, true]) {
      await store.maintain(forced);
      await store.ingest([completePart(call(deleted, 50))]);
      await page();
      expect(await store.calls.read({ project_id: projectId, id: deleted })).toBeUndefined();
      expect((await store.calls.read({ project_id: projectId, id: named }))?.display_name).toBe("a name");
    }
    expect(await pageAsStream({ project_id: other }, 4)).toBe(false);
    await reopen();
    // A start has nothing in memory, and what was there before is not taken for all there is.
    await store.ingest([completePart(call(newId(), -5)), completePart({ ...call(newId(), 0), started_at: nowUs() })]);
    await page();
  });

  it("that have expired are not shown again when a project keeps calls for longer", async () => {
    const projectId = newProject();
    const call = (days: number) => ({
      project_id: projectId,
      id: newId(),
      started_at: nowUs() - BigInt(days) * 1440n * minute,
    });
    const parts = [0, 0, 2, 3].map((days) => completePart(call(days)));
    await store.ingest(parts);
    await store.retention.update(projectId, 1, "user");
    const shown = async () => {
      const seen = [];
      for (const part of parts)
        if (part.part === "complete")
          seen.push((await store.calls.read({ project_id: projectId, id: part.start.id })) !== undefined);
      return seen;
    };
    expect(await shown()).toEqual([true, true, false, false]);
    await store.retention.update(projectId, null, "user");
    expect(await shown()).toEqual([true, true, false, false]);
    await pageAsStream({ project_id: projectId }, 2);
  });

  it("of a project that is deleted and made again are not those of before", async () => {
    const projectId = newProject();
    const parts = [1, 2, 3].map(() => completePart({ project_id: projectId, id: newId() }));
    await store.ingest(parts);
    expect(await pageAsStream({ project_id: projectId }, 2)).toBe(false);
    await store.deleteProject(projectId);
    await pageAsStream({ project_id: projectId }, 2);
    for (const part of parts) {
      if (part.part === "complete")
        expect(await store.calls.read({ project_id: projectId, id: part.start.id })).toBeUndefined();
    }
    await store.ingest([completePart({ project_id: projectId })]);
    await pageAsStream({ project_id: projectId }, 2);
  });

  it("are read from the tables after a write of unknown outcome, until it is known", async () => {
    const projectId = newProject();
    await store.ingest([1, 2, 3].map(() => completePart({ project_id: projectId })));
    store.engineRestarted();
    expect(await pageAsStream({ project_id: projectId }, 2)).toBe(true);
    await store.ingest([completePart({ project_id: projectId })]);
    await pageAsStream({ project_id: projectId }, 2);
  });
});

it("what memory has packed is read without a statement: by its id, its trace, and in pages", async () => {
  await open({ newestCallBytes: 1_000_000 });
  const projectId = newProject();
  const from = nowUs();
  const odd = "tab\t, line\n, \\N, \u{1F9F5}";
  for (let round = 0; round < 30; round++) {
    const calls = Array.from({ length: 20 }, (_, n) =>
      completePart({
        project_id: projectId,
        id: `${n % 5 === 0 ? odd : ""}${round}-${n}`,
        trace_id: `trace ${round}`,
        started_at: from + BigInt(round * 10 + (n % 4)),
        inputs: JSON.stringify({ odd, of: "much that is alike ".repeat(50), n }),
      }),
    );
    await store.ingest(calls);
  }
  const packed = () => store.load().memory.newest_calls;
  const written = 600 * 1200;
  await expect.poll(packed).toBeLessThan(written * 0.7);
  await expect.poll(packed).toBeLessThanOrEqual(500_000);
  const all = await listCalls(store, { project_id: projectId, sort_by: newestFirst });
  expect(all).toHaveLength(600);
  reads.reset();
  expect(await listCalls(store, { project_id: projectId, sort_by: newestFirst, limit: 600 })).toEqual(all);
  for (const round of [0, 7, 29]) {
    const filter = { trace_ids: [`trace ${round}`] };
    const trace = all.filter(({ trace_id }) => trace_id === `trace ${round}`);
    expect(await listCalls(store, { project_id: projectId, sort_by: newestFirst, filter })).toEqual(trace);
  }
  for (const call of all.slice(-40)) {
    expect(await store.calls.read({ project_id: projectId, id: call.id })).toEqual(call);
  }
  // Whether the traces have older calls.
  expect(reads.sent.map(({ sql }) => sql.split(" FROM ")[0])).toEqual(Array(3).fill("SELECT 1 AS found"));
});

it("calls that are packed far from one another are read by a statement: to unpack all would hold up everybody", async () => {
  await open({ newestCallBytes: 6_000_000 });
  const projectId = newProject();
  const from = nowUs();
  for (let round = 0; round < 30; round++) {
    await store.ingest(
      Array.from({ length: 10 }, (_, n) => {
        const at = round * 10 + n;
        const traceId = at % 4 === 0 ? "spread" : `trace ${at}`;
        const inputs = JSON.stringify("alike ".repeat(7000));
        return completePart({
          project_id: projectId,
          id: `${at}`,
          trace_id: traceId,
          started_at: from + BigInt(at),
          inputs,
        });
      }),
    );
    await expect.poll(() => store.load().memory.newest_calls).toBeLessThanOrEqual(4_000_000);
  }
  await expect.poll(() => store.load().memory.newest_calls).toBeLessThanOrEqual(3_000_000);
  const readTrace = async (traceId: string) => {
    reads.reset();
    const filter = { trace_ids: [traceId] };
    const calls = await listCalls(store, { project_id: projectId, sort_by: newestFirst, filter });
    return {
      ids: calls.map(({ id }) => id),
      isChecked: reads.sent.every(({ sql }) => sql.startsWith("SELECT 1 AS found")),
    };
  };
  expect(await readTrace("trace 5")).toEqual({ ids: ["5"], isChecked: true });
  const ids = Array.from({ length: 75 }, (_, n) => `${(74 - n) * 4}`);
  expect(await readTrace("spread")).toEqual({ ids, isChecked: false });
  // As many as the newest 300 calls have of another op: none.
  reads.reset();
  const filter = { op_names: ["weave:///a/b/op/other:*"] };
  expect(await listCalls(store, { project_id: projectId, sort_by: newestFirst, limit: 5, filter })).toEqual([]);
  expect(reads.sent).not.toEqual([]);
});

it("what memory has forgotten is read: pages of any length are whole and in order", async () => {
  await open({ newestCallBytes: 20_000 });
  const projects = [newProject(), newProject()];
  const from = nowUs();
  for (let round = 0; round < 12; round++) {
    for (const projectId of projects) {
      const calls = Array.from({ length: 5 }, (_, n) => {
        // Some come late, some far ahead of their time.
        const ahead = round === 4 && n === 1 ? 90n * minute : 0n;
        const startedAt = from + BigInt(round * 10 + ((n * 7) % 23)) * 1000n + ahead;
        return completePart({ project_id: projectId, started_at: startedAt, inputs: JSON.stringify("x".repeat(300)) });
      });
      await store.ingest(calls);
    }
    if (round % 6 !== 5) continue;
    for (const projectId of projects) {
      for (const limit of [1, 5, 40]) await pageAsStream({ project_id: projectId }, limit);
    }
  }
  expect(store.load().memory.newest_calls).toBeLessThanOrEqual(20_000);
  expect(store.load().memory.newest_calls).toBeGreaterThan(5000);
});
