import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

// A list that is short by its nature, filled up to what a body holds: what is looked up or computed for each of its
// entries would delay every other request by minutes.

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const projectId = newProject();
const times = { start: "2026-04-10T00:00:00Z", end: "2026-04-11T00:00:00Z" };
const some = <Item>(length: number, item: (index: number) => Item): Item[] =>
  Array.from({ length }, (_, at) => item(at));
const latency = { metric: "latency_ms", aggregations: ["avg"] };
const stats = (metric: object) => ({ project_id: projectId, ...times, call_metrics: [metric] });
const field = "inputs.a";
const deepField = { $getField: `inputs.${"a.".repeat(199)}a` };

/** Per case: the path, the largest request that is accepted, one that is too large, and its status. */
const cases: Record<string, [path: string, most: unknown, tooMuch: unknown, status: number]> = {
  "items of a batch": ["/call/upsert_batch", { batch: [] }, { batch: some(100_001, () => 0) }, 413],
  "projects looked up": [
    "/service/projects_info",
    { project_ids: some(1000, (at) => `acme/p${at}`) },
    { project_ids: some(1001, (at) => `acme/p${at}`) },
    422,
  ],
  "calls whose usage is added up": [
    "/calls/usage",
    { project_id: projectId, call_ids: some(10_000, String) },
    { project_id: projectId, call_ids: some(10_001, String) },
    422,
  ],
  "tables counted": [
    "/table/query_stats_batch",
    { project_id: projectId, digests: some(10_000, String) },
    { project_id: projectId, digests: some(10_001, String) },
    422,
  ],
  "metrics per bucket": [
    "/calls/stats",
    { project_id: projectId, ...times, call_metrics: some(20, () => latency) },
    { project_id: projectId, ...times, call_metrics: some(21, () => latency) },
    422,
  ],
  "percentiles per bucket": [
    "/calls/stats",
    stats({ ...latency, percentiles: some(20, Number) }),
    stats({ ...latency, percentiles: some(21, Number) }),
    422,
  ],
  "seconds of a bucket": [
    "/calls/stats",
    { ...stats(latency), granularity: 316_224_000 },
    { ...stats(latency), granularity: 2 ** 63 },
    422,
  ],
  "keys to sort by": [
    "/calls/query",
    { project_id: projectId, sort_by: some(20, () => ({ field, direction: "asc" })) },
    { project_id: projectId, sort_by: some(21, () => ({ field, direction: "asc" })) },
    400,
  ],
  "keys to sort a table by": [
    "/table/query",
    { project_id: projectId, digest: "ab".repeat(32), sort_by: some(20, () => ({ field: "a", direction: "asc" })) },
    { project_id: projectId, digest: "ab".repeat(32), sort_by: some(21, () => ({ field: "a", direction: "asc" })) },
    400,
  ],
  "steps of a path into rows": [
    "/table/query",
    { project_id: projectId, digest: "ab".repeat(32), sort_by: [{ field: `${"a.".repeat(200)}a`, direction: "asc" }] },
    { project_id: projectId, digest: "ab".repeat(32), sort_by: [{ field: `${"a.".repeat(201)}a`, direction: "asc" }] },
    400,
  ],
  "columns to expand": [
    "/calls/query",
    { project_id: projectId, expand_columns: some(200, (at) => `inputs.k${at}`) },
    { project_id: projectId, expand_columns: some(201, (at) => `inputs.k${at}`) },
    413,
  ],
  "refs inside each other that are looked through": ["/calls/query_stats", throughRefs(3), throughRefs(4), 413],
  "conditions of a query": ["/calls/query_stats", anyOf(100), anyOf(1200), 413],
  "steps of a path": [
    "/calls/query",
    { project_id: projectId, sort_by: [{ field: `inputs.${"a.".repeat(199)}a`, direction: "asc" }] },
    { project_id: projectId, sort_by: [{ field: `inputs.${"a.".repeat(200)}a`, direction: "asc" }] },
    422,
  ],
  "steps of all paths": [
    "/calls/query_stats",
    { project_id: projectId, query: { $expr: { $or: some(9, () => ({ $eq: [deepField, { $literal: 1 }] })) } } },
    { project_id: projectId, query: { $expr: { $or: some(51, () => ({ $eq: [deepField, { $literal: 1 }] })) } } },
    413,
  ],
  "text of a query": [
    "/calls/query",
    { project_id: projectId, query: { $expr: { $eq: [{ $getField: field }, { $literal: "x".repeat(999_000) }] } } },
    { project_id: projectId, query: { $expr: { $eq: [{ $getField: field }, { $literal: "x".repeat(1_000_000) }] } } },
    400,
  ],
  "internal projects in refs": ["/refs/read_batch", { refs: [] }, { refs: some(1001, internalRef) }, 413],
};

/** A count of the calls that contain one of so many texts. */
function anyOf(texts: number) {
  const contains = (at: number) => ({ $contains: { input: { $getField: field }, substr: { $literal: `x${at}` } } });
  return { project_id: projectId, query: { $expr: { $or: some(texts, contains) } } };
}

/** A count of calls by a field behind so many refs. */
function throughRefs(refs: number) {
  const path = (length: number) => `inputs.${some(length, (at) => `r${at}`).join(".")}`;
  const query = { $expr: { $eq: [{ $getField: path(refs + 1) }, { $literal: "x" }] } };
  return { project_id: projectId, query, expand_columns: some(refs, (at) => path(at + 1)) };
}

function internalRef(at: number): string {
  return `weave-trace-internal:///id${at}/object/o:d`;
}

test.each(Object.entries(cases))("there is a limit to %s", async (_, [path, most, tooMuch, status]) => {
  const send = async (body: unknown) => {
    const headers = { authorization: `Bearer ${service.owner_key}` };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await service.fetch(`http://in-process${path}`, init);
    const text = await answer.text();
    return [answer.status, answer.status === 200 ? "" : text] as const;
  };
  expect(await send(most)).toEqual([200, ""]);
  expect((await send(tooMuch))[0]).toBe(status);
});

test("a table takes many changes at any position, and no more than the limit", async () => {
  const tracing = service.tracing();
  const { digest } = await tracing.tableCreate({ table: { project_id: projectId, rows: [{ a: 1 }, { a: 2 }] } });
  const update = async (updates: Parameters<typeof tracing.tableUpdate>[0]["updates"]) =>
    tracing.tableUpdate({ project_id: projectId, base_digest: digest, updates });
  const inserted = await update(some(5000, (index) => ({ insert: { index: 1, row: { n: index } } })));
  expect((await tracing.tableQueryStats({ project_id: projectId, digest: inserted.digest })).count).toBe(5002);
  await expect(update(some(100_001, () => ({ pop: { index: 0 } })))).rejects.toMatchObject({ status: 413 });
});
