import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createTracingClient } from "@heddle/client/tracing";
import { watchMostAtOnce } from "../most-at-once.js";
import { newProject, openTestService, ownerKey } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected).toEqual([]));

/** Complete calls `c0`, `c1`, …, each a second later. */
async function record(projectId: string, count: number, more: object = {}): Promise<void> {
  const time = (n: number) => new Date(Date.UTC(2026, 3, 10, 9, 0, n)).toISOString();
  const batch = Array.from({ length: count }, (_, n) => {
    const call = { project_id: projectId, id: `c${n}` };
    const start = {
      ...call,
      trace_id: "t",
      op_name: "answer",
      started_at: time(n),
      attributes: {},
      inputs: { n },
      ...more,
    };
    return [
      { mode: "start" as const, req: { start } },
      { mode: "end" as const, req: { end: { ...call, ended_at: time(2 * n), output: n, summary: {} } } },
    ];
  });
  await service.tracing().callStartBatch({ batch: batch.flat() });
}

test("pages go on from cursors in both directions, in process and over a socket", async () => {
  const projectId = newProject();
  await record(projectId, 7);
  const socket = createTracingClient({ baseUrl: await service.listen(), apiKey: ownerKey });
  for (const tracing of [service.tracing(), socket]) {
    const list = {
      project_id: projectId,
      sort_by: [{ field: "summary.weave.latency_ms", direction: "desc" as const }],
    };
    const first = await tracing.callsPage({ ...list, limit: 3, select: ["latency_ms"], total: "exact" });
    expect(first.calls).toMatchObject([6, 5, 4].map((n) => ({ id: `c${n}`, latency_ms: n * 1000 })));
    expect(Object.keys(first.calls[0] ?? {}).toSorted()).toEqual(["id", "latency_ms", "seq", "started_at"]);
    expect(first).toMatchObject({ has_more: true, total: { value: 7, exact: true } });
    const second = await tracing.callsPage({ ...list, limit: 3, after: first.next });
    expect(second.calls.map(({ id }) => id)).toEqual(["c3", "c2", "c1"]);
    const last = await tracing.callsPage({ ...list, limit: 3, before: "end" });
    expect(last.calls.map(({ id }) => id)).toEqual(["c2", "c1", "c0"]);
    expect((await tracing.callsPage({ ...list, before: second.previous })).calls.map(({ id }) => id)).toEqual([
      "c6",
      "c5",
      "c4",
    ]);
    const none = await tracing.callsPage({ ...list, before: first.previous });
    expect(none).toMatchObject({ calls: [], has_more: false });
    expect(none.next ?? none.previous).toBeUndefined();
  }
});

test("a cursor is good for one project, selection and order, and for no other", async () => {
  const projectId = newProject();
  const other = newProject();
  await record(projectId, 3);
  await record(other, 3);
  const list: Parameters<ReturnType<TestService["tracing"]>["callsPage"]>[0] = {
    project_id: projectId,
    filter: { trace_ids: ["t"] },
    query: { $expr: { $gt: [{ $getField: "inputs.n" }, { $literal: -1 }] } },
    sort_by: [{ field: "id", direction: "asc" }],
  };
  const cursor = (await service.tracing().callsPage({ ...list, limit: 1 })).next ?? "";
  const rest = await service.tracing(await service.key({ role: "read" })).callsPage({
    ...list,
    after: cursor,
    select: ["name"],
  });
  expect(rest.calls.map(({ id }) => id)).toEqual(["c1", "c2"]);
  const [payload = "", signature = ""] = cursor.split(".");
  const moved = Buffer.from(JSON.stringify(["c2", "c2"])).toString("base64url");
  const wrong: object[] = [
    { project_id: other },
    { filter: { trace_ids: ["u"] } },
    { filter: undefined },
    { query: undefined },
    { sort_by: [{ field: "id", direction: "desc" }] },
    { sort_by: undefined },
    { after: `${moved}.${signature}` },
    { after: payload },
    { after: `${cursor}x` },
    { after: "." },
    { after: "\u{1F9F5}" },
    { after: "end" },
    { after: "x".repeat(200_000) },
  ];
  for (const change of wrong) {
    await expect(service.tracing().callsPage({ ...list, after: cursor, ...change })).rejects.toMatchObject({
      status: 422,
      body: { detail: [{ loc: ["body", "after"] }] },
    });
  }
  await expect(service.tracing().callsPage({ ...list, after: cursor, before: "end" })).rejects.toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body", "before"] }] },
  });
});

test("what cannot be selected, sorted or looked for is refused with its field", async () => {
  const refused: Array<[body: object, status: number, loc: unknown[]]> = [
    [{ select: Array.from({ length: 101 }, () => "name") }, 422, ["body", "select"]],
    [{ select: ["name", "__proto__"] }, 422, ["body", "select", 1]],
    [{ select: [`inputs${".x".repeat(201)}`] }, 422, ["body", "select", 0]],
    [{ preview_chars: 10_001 }, 422, ["body", "preview_chars"]],
    [{ limit: 0 }, 422, ["body", "limit"]],
    [{ limit: 1001 }, 422, ["body", "limit"]],
    [{ at_time: "noon" }, 422, ["body", "at_time"]],
    [{ at_time: 0, sort_by: [{ field: "id", direction: "asc" }] }, 422, ["body", "at_time"]],
    [{ sort_by: [{ field: "nothing", direction: "asc" }] }, 422, ["body", "sort_by", 0, "field"]],
    [{ total: "about" }, 422, ["body", "total"]],
    [{ include: ["everything"] }, 422, ["body", "include", 0]],
  ];
  for (const [body, status, loc] of refused) {
    const tracing = service.tracing();
    const error = await tracing.callsPage({ project_id: newProject(), ...body }).catch((thrown: unknown) => thrown);
    expect(error, JSON.stringify(body).slice(0, 80)).toMatchObject({ status, body: { detail: [{ loc }] } });
  }
});

test("a row has the exact leaves, and the name of its user where it is asked for", async () => {
  const projectId = newProject();
  await record(projectId, 1, { inputs: { a: { b: "x".repeat(300) }, n: 107505301260286 } });
  const response = await service.fetch("http://in-process/calls/page", {
    method: "POST",
    headers: { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      project_id: projectId,
      select: ["inputs.a.b", "inputs.n", "inputs.a", "user"],
      preview_chars: 20,
      include: ["users", "sizes", "feedback", "costs"],
    }),
  });
  const { calls } = (await response.json()) as { calls: object[] };
  expect(calls).toMatchObject([
    {
      user: { id: expect.any(String), name: "owner" },
      size_bytes: expect.any(Number),
      feedback: [],
      values: { "inputs.n": 107505301260286 },
      cut: {
        "inputs.a.b": { text: "x".repeat(20), chars: 300, kind: "string" },
        "inputs.a": { text: '{"b":"xxxxxxxxxxxxxx', chars: 308, kind: "object" },
      },
    },
  ]);
  expect(calls[0]).not.toHaveProperty("cost");
});

test("calls that arrive shift no page", async () => {
  const projectId = newProject();
  await record(projectId, 5);
  const list = { project_id: projectId, limit: 2 };
  const seen: string[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await service.tracing().callsPage({ ...list, after });
    seen.push(...page.calls.map(({ id }) => id));
    if (!page.has_more) break;
    after = page.next;
    await service.tracing().callStart({
      start: {
        project_id: projectId,
        id: `new${seen.length}`,
        trace_id: "t",
        op_name: "o",
        started_at: new Date().toISOString(),
        attributes: {},
        inputs: {},
      },
    });
  }
  expect(seen).toEqual(["c4", "c3", "c2", "c1", "c0"]);
});

test("a search finds calls by words and texts, and its cursors are its own", async () => {
  const projectId = newProject();
  await record(projectId, 3, { inputs: { question: "What is a Heddle? Größe – 日本語 🎉" }, display_name: "Weaving" });
  const tracing = service.tracing();
  const find = async (text: string, more: object = {}) =>
    await tracing.callsPage({ project_id: projectId, search: { text }, select: ["name"], ...more });
  const found = await find("heddle GRÖSSE", { search: { text: 'HEDDLE größe "is a"' }, limit: 2 });
  expect(found.calls.map(({ id }) => id)).toEqual(["c2", "c1"]);
  expect(found.calls[0]?.matches).toEqual([
    { path: "inputs.question", at: 5, length: 4 },
    { path: "inputs.question", at: 10, length: 6 },
    { path: "inputs.question", at: 18, length: 5 },
  ]);
  expect(found).toMatchObject({ has_more: true, search: { complete: true } });
  const next = await find("", { search: { text: 'HEDDLE größe "is a"' }, after: found.next });
  expect(next.calls.map(({ id }) => id)).toEqual(["c0"]);
  await expect(find("heddle", { after: found.next })).rejects.toMatchObject({ status: 422 });
  for (const text of ["日本", "🎉", "weaving", "a"]) expect((await find(text)).calls).toHaveLength(3);
  for (const text of ["heddl", "%", "h.ddle", "weave", "_"]) expect((await find(text)).calls).toEqual([]);
  await expect(find('""')).rejects.toMatchObject({ status: 400 });
  await expect(find("x".repeat(1_000_000))).rejects.toMatchObject({ status: 422 });
});

test("the users of a page are looked up a few at a time", async () => {
  const projectId = newProject();
  for (let n = 0; n < 40; n++) {
    const tracing = service.tracing(await service.key({ user_name: `user${n}` }));
    const call = { project_id: projectId, id: `c${n}`, trace_id: "t", op_name: "answer" };
    const start = { ...call, started_at: "2026-04-10T09:00:00Z", attributes: {}, inputs: {} };
    await tracing.callStart({ start });
  }
  const lookUps = watchMostAtOnce(service.services.control.users, "get");
  const { calls } = await service.tracing().callsPage({ project_id: projectId, limit: 40, include: ["users"] });
  expect(new Set(calls.map(({ user }) => user?.name)).size).toBe(40);
  expect(lookUps.stop()).toBeLessThanOrEqual(16);
});
