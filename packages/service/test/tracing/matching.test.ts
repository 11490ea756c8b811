import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createTracingClient } from "@heddle/client/tracing";
import { newProject, openTestService, ownerKey } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected).toEqual([]));

/** Roots `c0`, `c1`, …, each a second later, each with a call below it. */
async function record(
  projectId: string,
  count: number,
  inputs: (n: number) => Record<string, unknown> = (n) => ({ n }),
) {
  const times = Array.from({ length: count }, (_, n) => new Date(Date.UTC(2026, 3, 10, 9, 0, n)).toISOString());
  const shared = (n: number) => ({
    project_id: projectId,
    trace_id: `t${n}`,
    started_at: times[n] ?? "",
    attributes: {},
  });
  const start = (
    start: { id: string; op_name: string; inputs: Record<string, unknown>; parent_id?: string },
    n: number,
  ) => ({
    mode: "start" as const,
    req: { start: { ...shared(n), ...start } },
  });
  const ended = times.map((endedAt, n) => ({
    mode: "end" as const,
    req: { end: { project_id: projectId, id: `c${n}`, ended_at: endedAt, output: { text: `o${n}` }, summary: {} } },
  }));
  const roots = times.map((_, n) => start({ id: `c${n}`, op_name: "answer", inputs: inputs(n) }, n));
  const below = times.map((_, n) => start({ id: `b${n}`, op_name: "step", inputs: {}, parent_id: `c${n}` }, n));
  await service.tracing().callStartBatch({ batch: [...roots, ...ended, ...below] });
}

const roots = { filter: { trace_roots_only: true } };

test("calls that match are put into a queue once, in their order, and not when they are others than expected", async () => {
  const projectId = newProject();
  await record(projectId, 5);
  const tracing = service.tracing();
  const { id: queueId } = await tracing.annotationQueueCreate({ project_id: projectId, name: "q", scorer_refs: [] });
  const add = { project_id: projectId, queue_id: queueId, ...roots, display_fields: ["inputs.n"] };
  const callsIn = async () =>
    (await tracing.annotationQueueItemsQuery({ project_id: projectId, queue_id: queueId })).items.map(
      ({ call_id }) => call_id,
    );
  const refused = await tracing
    .annotationQueueAddMatching({ ...add, expected_count: 4 })
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 409, body: { actual_count: 5 } });
  expect(await callsIn()).toEqual([]);
  const first = await tracing.annotationQueueAddMatching({ ...add, expected_count: 5, limit: 2 });
  expect(first).toMatchObject({ matched: 5, done: 2, skipped: [] });
  expect(await callsIn()).toEqual(["c4", "c3"]);
  const oldestFirst = [{ field: "started_at", direction: "asc" as const }];
  const all = await tracing.annotationQueueAddMatching({ ...add, expected_count: 5, sort_by: oldestFirst });
  expect(all).toMatchObject({ matched: 5, done: 3, skipped: [{ reason: "in_queue", count: 2 }] });
  expect(await callsIn()).toEqual(["c4", "c3", "c0", "c1", "c2"]);
  const missing = { ...add, queue_id: "0199d3a4-1a00-7c31-9f0e-2d5b8a6c4e10", expected_count: 5 };
  await expect(tracing.annotationQueueAddMatching(missing)).rejects.toMatchObject({ status: 404 });
});

test("calls that match get the same feedback, once however often the request comes", async () => {
  const projectId = newProject();
  await record(projectId, 4, (n) => ({ text: n % 2 === 0 ? "a needle" : "hay" }));
  const tracing = service.tracing();
  const note = {
    project_id: projectId,
    search: { text: "needle" },
    feedback_type: "wandb.note.1",
    payload: { note: "seen" },
  };
  const create = async (retryId: string, body: object = {}) =>
    await tracing.feedbackCreateMatching({ ...note, expected_count: 2, ...body }, { retryId });
  const first = await create("r1");
  expect(first).toMatchObject({ matched: 2, done: 2, skipped: [] });
  await record(projectId, 6, () => ({ text: "needle" }));
  expect(await create("r1")).toEqual(first);
  await expect(create("r1", { payload: { note: "other" } })).rejects.toMatchObject({ status: 409 });
  const { result } = await tracing.feedbackQuery({ project_id: projectId, fields: ["weave_ref", "payload.note"] });
  expect(result).toHaveLength(2);
  expect(result).toContainEqual({ weave_ref: `weave:///${projectId}/call/c2`, "payload.note": "seen" });
  await expect(create("r2", { payload: { note: "" } })).rejects.toMatchObject({ status: 400 });
  const reaction = { feedback_type: "wandb.reaction.1", payload: { emoji: "👍" }, expected_count: 6 };
  expect(await create("r3", reaction)).toMatchObject({ done: 6 });
});

test("calls that match are deleted with what is below them, and a repeated request is not another one", async () => {
  const projectId = newProject();
  await record(projectId, 3);
  const tracing = service.tracing();
  const query = { $expr: { $gte: [{ $getField: "inputs.n" }, { $literal: 1 }] } };
  const request = { project_id: projectId, ...roots, query, expected_count: 2 };
  await expect(tracing.callsDeleteMatching({ ...request, expected_count: 1 }, { retryId: "d0" })).rejects.toMatchObject(
    {
      status: 409,
    },
  );
  const deleted = await tracing.callsDeleteMatching(request, { retryId: "d1" });
  expect(deleted).toMatchObject({ matched: 2, done: 2, skipped: [], num_deleted: 4 });
  expect(await tracing.callsDeleteMatching(request, { retryId: "d1" })).toEqual(deleted);
  const left = (await tracing.callsPage({ project_id: projectId })).calls.map(({ id }) => id);
  expect(left.toSorted()).toEqual(["b0", "c0"]);
  expect(await tracing.callsDeleteMatching({ ...request, expected_count: 0 })).toMatchObject({
    matched: 0,
    done: 0,
    num_deleted: 0,
  });
});

test("calls that match become rows of a dataset, with exact values", async () => {
  const projectId = newProject();
  const [entity = "", project = ""] = projectId.split("/");
  await record(projectId, 3, (n) => (n === 1 ? {} : { "n.b": n, question: `q${n}` }));
  const tracing = service.tracing();
  const dataset = { entity, project, object_id: "golden" };
  const columns = { number: "inputs.n\\.b", question: "inputs.question" };
  const add = { ...dataset, ...roots, columns, expected_count: 3 };
  await expect(tracing.datasetAddMatching(add)).rejects.toMatchObject({ status: 404 });
  await tracing.datasetCreate({ entity, project, name: "golden", description: "kept", rows: [{ question: "old" }] });
  const oldestFirst = [{ field: "started_at", direction: "asc" as const }];
  const added = await tracing.datasetAddMatching({ ...add, sort_by: oldestFirst }, { retryId: "rows" });
  expect(added).toMatchObject({
    matched: 3,
    done: 2,
    skipped: [{ reason: "no_values", count: 1 }],
    object_id: "golden",
    version_index: 1,
  });
  expect(await tracing.datasetAddMatching({ ...add, sort_by: oldestFirst }, { retryId: "rows" })).toEqual(added);
  const read = await tracing.datasetRead({ ...dataset, digest: "latest" });
  expect(read).toMatchObject({ digest: added.digest, description: "kept" });
  const digest = read.rows.split("/").at(-1) ?? "";
  const { rows } = await tracing.tableQuery({ project_id: projectId, digest });
  expect(rows.map(({ val }) => val)).toEqual([
    { question: "old" },
    { number: 0, question: "q0" },
    { number: 2, question: "q2" },
  ]);
  const wrong = { ...add, columns: { a: "op_name" } };
  await expect(tracing.datasetAddMatching(wrong)).rejects.toMatchObject({ status: 422 });
});

test("more calls than one request acts on are refused, and ten thousand are not", { timeout: 120_000 }, async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  const batch = Array.from({ length: 10_001 }, (_, n) => ({
    mode: "start" as const,
    req: {
      start: {
        project_id: projectId,
        id: `c${n}`,
        trace_id: "t",
        op_name: n === 0 ? "one" : "many",
        started_at: "2026-04-10T09:00:00Z",
        attributes: {},
        inputs: {},
      },
    },
  }));
  for (let from = 0; from < batch.length; from += 2000) {
    await tracing.callStartBatch({ batch: batch.slice(from, from + 2000) });
  }
  await expect(tracing.callsDeleteMatching({ project_id: projectId, expected_count: 10_001 })).rejects.toMatchObject({
    status: 413,
  });
  const many = { filter: { op_names: ["many"] }, expected_count: 10_000 };
  const note = { feedback_type: "wandb.note.1", payload: { note: "x" } };
  expect(
    await tracing.feedbackCreateMatching({ project_id: projectId, ...many, ...note }, { retryId: "all" }),
  ).toMatchObject({
    done: 10_000,
  });
  const { id: queueId } = await tracing.annotationQueueCreate({ project_id: projectId, name: "q", scorer_refs: [] });
  const queued = await tracing.annotationQueueAddMatching({
    project_id: projectId,
    queue_id: queueId,
    ...many,
    display_fields: [],
  });
  expect(queued).toMatchObject({ done: 10_000 });
  expect(await tracing.callsDeleteMatching({ project_id: projectId, ...many })).toMatchObject({
    done: 10_000,
    num_deleted: 10_000,
  });
  expect((await tracing.callsPage({ project_id: projectId })).calls.map(({ id }) => id)).toEqual(["c0"]);
});

test("a story over a socket: search, act on what is found, see it", async () => {
  const projectId = newProject();
  await record(projectId, 4, (n) => ({ question: n < 3 ? "Why does the loom stop?" : "What is weft?" }));
  const tracing = createTracingClient({ baseUrl: await service.listen(), apiKey: ownerKey });
  const selection = { project_id: projectId, search: { text: '"loom stop"' } };
  const page = await tracing.callsPage({
    ...selection,
    total: "exact",
    select: ["inputs.question"],
    include: ["feedback"],
  });
  expect(page.calls.map(({ id }) => id)).toEqual(["c2", "c1", "c0"]);
  expect(page.calls[0]?.matches).toEqual([{ path: "inputs.question", at: 13, length: 9 }]);
  const expected = page.total?.value ?? -1;
  const payload = { note: "the loom again" };
  const rated = await tracing.feedbackCreateMatching({
    ...selection,
    expected_count: expected,
    feedback_type: "wandb.note.1",
    payload,
  });
  expect(rated.done).toBe(3);
  const after = await tracing.callsPage({ ...selection, include: ["feedback"] });
  expect(after.calls.map(({ feedback }) => feedback?.[0]?.payload)).toEqual([payload, payload, payload]);
  expect(BigInt(after.seq)).toBeGreaterThanOrEqual(BigInt(rated.seq));
  await tracing.callsDeleteMatching({ ...selection, expected_count: expected });
  expect((await tracing.callsPage(selection)).calls).toEqual([]);
});
