import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { completePart, endPart, newProject, nowUs, startPart } from "../../test/call-parts.js";
import { listCalls } from "../../test/list-calls.js";
import { recordedReads } from "../../test/recorded-reads.js";
import { testDatabase } from "../../test/store.js";
import type { ApiSchemas } from "../api-schemas.js";
import type { CallMetricSpec } from "../stats/metrics.js";
import type { TraceStore } from "../store.js";

type AggregationType = ApiSchemas["AggregationType"];

// Counts and statistics read calls in their own ways: they have to agree with a list.
const hourUs = 3_600_000_000n;
const t0 = (nowUs() / hourUs - 400n) * hourUs;

describe.each([
  { running: "from memory", openSideCacheBytes: 1_000_000 },
  { running: "from their table", openSideCacheBytes: 0 },
])("with running calls $running", ({ openSideCacheBytes }) => {
  const db = testDatabase();
  const limits = { openSideCacheBytes };
  const reads = recordedReads();
  let store: TraceStore;
  const open = async () => await db.open({ limits, wrapEngine: reads.wrap });
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => db.drop());
  beforeEach(() => reads.reset());

  const counts: AggregationType[] = ["sum", "count", "count_true", "count_false"];
  /** Of running calls these depend on their number alone. */
  const simple: CallMetricSpec[] = [
    { metric: "call_count", aggregations: counts },
    { metric: "error_count", aggregations: counts },
    { metric: "latency_ms", aggregations: [...counts, "avg", "min", "max"], percentiles: [50] },
  ];
  const other: CallMetricSpec[] = [
    { metric: "call_count", aggregations: ["avg", "min"], percentiles: [5] },
    { metric: "error_count", aggregations: ["avg", "max"], percentiles: [90] },
  ];
  const statsOf = async (projectId: string, filter = {}, metrics = simple) =>
    await store.calls.callStats({
      project_id: projectId,
      start: t0,
      end: t0 + 1000n * hourUs,
      granularity: 86_400,
      call_metrics: metrics,
      filter,
    });

  const expectAgreement = async (projectId: string, filter = {}) => {
    const listed = await listCalls(store, { project_id: projectId, filter, include_storage_size: true });
    const bytes = listed.reduce((sum, call) => sum + (call.storage_size_bytes ?? 0), 0);
    const request = { project_id: projectId, filter };
    expect(await store.calls.count(request)).toEqual({ count: listed.length, total_storage_size_bytes: null });
    expect(await store.calls.count({ ...request, include_total_storage_size: true })).toEqual({
      count: listed.length,
      total_storage_size_bytes: bytes,
    });
    const complete = listed.filter(({ status }) => status !== "running");
    const { call_buckets: buckets } = await statsOf(projectId, filter);
    const { call_buckets: all } = await statsOf(projectId, filter, [...simple, ...other]);
    expect(all).toMatchObject(buckets);
    const total = (key: string) => buckets.reduce((sum, bucket) => sum + Number(bucket[key]), 0);
    expect({
      calls: total("count"),
      counted: total("sum_call_count"),
      errors: total("sum_error_count"),
      others: total("count_false_error_count"),
      timed: total("count_latency_ms"),
    }).toEqual({
      calls: listed.length,
      counted: listed.length,
      errors: listed.filter(({ status }) => status === "error").length,
      others: listed.filter(({ status }) => status !== "error").length,
      timed: complete.length,
    });
    for (const { timestamp, ...bucket } of buckets) {
      const from = Date.parse(timestamp);
      const here = listed.filter((call) => {
        const at = Number(call.started_at / 1000n);
        return at >= from && at < from + 86_400_000;
      });
      expect(bucket["count"]).toBe(here.length);
    }
    if (Object.keys(filter).length > 0) return;
    expect(await store.projectStats({ project_id: projectId })).toMatchObject({
      call_count: listed.length,
      trace_storage_size_bytes: bytes,
    });
  };

  /** A call every hour of twelve days: complete, failed and running ones. */
  const fill = async (projectId: string, count = 288) => {
    const ids = Array.from({ length: count }, (_, n) => `c${n}`);
    await store.ingest(
      ids.map((id, n) => {
        const call = {
          project_id: projectId,
          id,
          trace_id: `t${n % 5}`,
          op_name: `op${n % 2}`,
          started_at: t0 + BigInt(n) * hourUs,
        };
        if (n % 7 === 0) return startPart(call);
        return completePart(call, n % 5 === 0 ? { exception: "boom" } : {});
      }),
    );
    return ids;
  };

  it("all agree while nothing is hidden, and for any filter", async () => {
    const projectId = newProject();
    const ids = await fill(projectId);
    for (const filter of [
      {},
      { op_names: ["op1"] },
      { trace_ids: ["t1", "t2"] },
      { call_ids: ids.slice(3, 40) },
      { trace_roots_only: true },
    ]) {
      await expectAgreement(projectId, filter);
    }
  });

  it("all agree when calls of any age were replaced, moved to another time or deleted, before and after a restart", async () => {
    const projectId = newProject();
    const ids = await fill(projectId);
    const chosen = (n: number, of: number) => ids.filter((_, index) => index % 29 === n && index % of !== 0);
    const moved = chosen(1, 7).map((id) => completePart({ project_id: projectId, id, started_at: t0 + 3n }));
    const replaced = chosen(2, 7).map((id) =>
      completePart({ project_id: projectId, id, started_at: t0 + BigInt(ids.indexOf(id)) * hourUs }, { output: "[2]" }),
    );
    await store.ingest([...moved, ...replaced]);
    await expectAgreement(projectId);
    await store.calls.delete(projectId, [...chosen(3, 1000), ...chosen(1, 7).slice(0, 2)], "user");
    await expectAgreement(projectId);
    await expectAgreement(projectId, { op_names: ["op1"] });
    await store.close();
    store = await open();
    await expectAgreement(projectId);
    await store.maintain(true);
    await expectAgreement(projectId);
  });

  it("all agree when more calls are hidden than memory lists, and with a retention", async () => {
    const projectId = newProject();
    const ids = await fill(projectId);
    await store.calls.delete(projectId, ids.slice(0, 230), "user");
    await expectAgreement(projectId);
    await store.retention.update(projectId, 10, "user");
    await expectAgreement(projectId);
  });

  it("a call that ends meanwhile counts once, and one of another project costs no further read", async () => {
    const [projectId, other] = [newProject(), newProject()];
    await fill(projectId, 8);
    await fill(other, 8);
    const totals = {
      count: async () => (await store.calls.count({ project_id: projectId })).count,
      size: async () => (await store.calls.count({ project_id: projectId, include_total_storage_size: true })).count,
      project: async () => (await store.projectStats({ project_id: projectId })).call_count,
      stats: async () => (await statsOf(projectId)).call_buckets.reduce((sum, { count }) => sum + count, 0),
    };
    for (const [name, read] of Object.entries(totals)) {
      for (const project of [projectId, other]) {
        const id = `${name} ${project}`;
        await store.ingest([startPart({ project_id: project, id, started_at: t0 })]);
        const before = await read();
        reads.reset();
        reads.beforeNextRows = async () => {
          await store.ingest([endPart({ project_id: project, id })]);
        };
        expect(await read()).toBe(before);
        const statements = reads.sent.filter(({ sql }) => /\bFROM calls\b/.test(sql) && sql.includes("count()"));
        expect(statements.length).toBe(project === projectId && !reads.sent[0]?.sql.includes("call_parts") ? 2 : 1);
      }
    }
  });

  it(`running calls are ${openSideCacheBytes === 0 ? "read" : "not read"} from their table`, async () => {
    const projectId = newProject();
    await fill(projectId);
    reads.reset();
    await statsOf(projectId, { op_names: ["op1"] });
    await store.projectStats({ project_id: projectId });
    expect(reads.sent.map(({ sql }) => sql.includes("call_parts"))).toEqual(Array(2).fill(openSideCacheBytes === 0));
    reads.reset();
    await statsOf(projectId, {}, other);
    expect(reads.sent.map(({ sql }) => sql.includes("call_parts"))).toEqual([true]);
  });
});
