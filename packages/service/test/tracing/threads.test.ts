import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { hostileTexts } from "../hostile/hostile-texts.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const at = (second: number) => new Date(Date.UTC(2026, 3, 10, 9, 0, second)).toISOString();

/** A complete call of a thread; a turn unless `turn_id` says otherwise. */
function turn(projectId: string, id: string, threadId: string, [from, to]: [number, number], more: object = {}) {
  const ids = { project_id: projectId, id, trace_id: id, thread_id: threadId, turn_id: id };
  const times = { started_at: at(from), ended_at: at(to) };
  return { ...ids, ...times, op_name: "answer", attributes: {}, inputs: {}, output: "", summary: {}, ...more };
}
async function store(projectId: string, batch: ReturnType<typeof turn>[]) {
  const [entity = "", project = ""] = projectId.split("/");
  expect(await service.tracing().callsComplete({ entity, project, batch })).toEqual({});
}
async function list(projectId: string, more: object = {}) {
  const threads = [];
  for await (const thread of service.tracing().threadsQueryStream({ project_id: projectId, ...more })) {
    threads.push(thread);
  }
  return threads;
}
async function post(body: object) {
  const answer = await service.fetch("http://in-process/threads/stream_query", {
    method: "POST",
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${service.owner_key}` },
  });
  return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
}

test("threads come line by line, the last updated first", async () => {
  const projectId = newProject();
  await store(projectId, [
    turn(projectId, "a1", "a", [0, 2]),
    turn(projectId, "a2", "a", [10, 11]),
    turn(projectId, "a2-child", "a", [0, 59], { turn_id: "a2", parent_id: "a2" }),
    turn(projectId, "b1", "b", [20, 21]),
  ]);
  expect(await list(projectId)).toEqual([
    expect.objectContaining({ thread_id: "b", turn_count: 1 }),
    {
      thread_id: "a",
      turn_count: 2,
      start_time: "2026-04-10T09:00:00.000000Z",
      last_updated: "2026-04-10T09:00:11.000000Z",
      first_turn_id: "a1",
      last_turn_id: "a2",
      p50_turn_duration_ms: 1500,
      p99_turn_duration_ms: 1990,
    },
  ]);
  const { type, text } = await post({
    project_id: projectId,
    limit: null,
    sort_by: null,
    filter: { thread_ids: null },
  });
  expect(type).toContain("application/jsonl");
  expect(text.trim().split("\n")).toHaveLength(2);
  const filter = { after_datetime: at(0), before_datetime: Date.parse(at(20)) / 1000 };
  expect(await list(projectId, { filter })).toMatchObject([{ thread_id: "a", turn_count: 1, first_turn_id: "a2" }]);
  expect((await post({ project_id: newProject() })).text).toBe("");
});

describe("any text may be the id of a thread", () => {
  const texts = Object.values(hostileTexts).filter((text) => text !== "");

  test("and is listed, filtered and sorted by as it is", async () => {
    const projectId = newProject();
    await store(
      projectId,
      texts.map((text, index) => turn(projectId, `t${index}`, text, [index, index + 1])),
    );
    const byStart = { sort_by: [{ field: "start_time", direction: "asc" }] };
    expect((await list(projectId, byStart)).map(({ thread_id }) => thread_id)).toEqual(texts);
    for (const text of texts) {
      const found = await list(projectId, { filter: { thread_ids: [text] } });
      expect(found.map(({ thread_id }) => thread_id)).toEqual([text]);
    }
    expect(await list(projectId, { filter: { thread_ids: ["' OR '1'='1' --", "\ud800"] } })).toEqual([]);
  });
});

describe("a request that cannot be is refused with the field that is wrong", () => {
  const by = (field: string, direction = "asc") => ({ sort_by: [{ field, direction }] });
  test.each<[object, number, RegExp]>([
    [by("first_turn_id"), 400, /sort_by.*threads sort by thread_id, turn_count/],
    [by("inputs.x"), 400, /threads sort by/],
    [by("turn_count); DROP TABLE calls; --"), 400, /threads sort by/],
    [by("turn_count", "sideways"), 422, /"direction"/],
    [
      { sort_by: Array.from({ length: 21 }, () => ({ field: "thread_id", direction: "asc" })) },
      400,
      /sort_by has more than 20 keys/,
    ],
    [{ limit: 0 }, 400, /limit must be at least 1/],
    [{ limit: 2 ** 60 }, 400, /limit must be at least 1 and at most 2\^53/],
    [{ limit: "many" }, 422, /"limit"/],
    [{ offset: -1 }, 422, /"offset"/],
    [{ filter: { after_datetime: "yesterday" } }, 422, /"filter","after_datetime"/],
    [{ filter: { before_datetime: "1812-01-01T00:00:00Z" } }, 422, /"filter","before_datetime"/],
    [{ filter: { before_datetime: 1e300 } }, 422, /"filter","before_datetime"/],
    [{ filter: { thread_ids: Array.from({ length: 1001 }, String) } }, 400, /thread_ids has more than 1000 entries/],
    [{ filter: { thread: ["t"] } }, 422, /"filter"/],
  ])("%o", async (request, status, reason) => {
    const answer = await post({ project_id: "acme/demo", ...request });
    expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(reason)]);
  });
});

describe("sessions of OpenTelemetry", () => {
  const trace = "5b8efff798038103d269b633813fc60c";
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const span = (spanId: string, parentSpanId: string, attributes: object[]) => ({
    traceId: trace,
    spanId,
    parentSpanId,
    name: "chat",
    attributes,
    startTimeUnixNano: "1775811600000000000",
    endTimeUnixNano: "1775811601250000000",
  });
  async function send(to: TestService, projectId: string) {
    const session = [text("session.id", "visit")];
    const spans = [
      span("aaaaaaaaaaaaaaa2", "aaaaaaaaaaaaaaa1", session),
      span("aaaaaaaaaaaaaaa1", "", session),
      span("aaaaaaaaaaaaaaa3", "", [text("gen_ai.conversation.id", "talk")]),
    ];
    const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
    await to.tracing().exportTrace({ project_id: projectId, mediaType: "application/json", body });
  }

  test("are threads with their root spans as turns", async () => {
    const projectId = newProject();
    await send(service, projectId);
    expect(await list(projectId, { sort_by: [{ field: "thread_id", direction: "asc" }] })).toMatchObject([
      { thread_id: "talk", turn_count: 1, first_turn_id: "aaaaaaaaaaaaaaa3" },
      { thread_id: "visit", turn_count: 1, first_turn_id: "aaaaaaaaaaaaaaa1", p50_turn_duration_ms: 1250 },
    ]);
    const calls = await service.tracing().callsQuery({ project_id: projectId, filter: { thread_ids: ["visit"] } });
    expect(calls.calls).toHaveLength(2);
  });

  test("are not threads where HEDDLE_OTLP_SESSION_THREADS is off", async () => {
    const projectId = newProject();
    service.services.config.otlpSessionThreads = false;
    try {
      await send(service, projectId);
    } finally {
      service.services.config.otlpSessionThreads = true;
    }
    expect(await list(projectId)).toEqual([]);
    expect(await service.tracing().callsQueryStats({ project_id: projectId })).toMatchObject({ count: 3 });
  });
});

test("a bare run id means a run of this project, in lists and counts", async () => {
  const projectId = newProject();
  await store(projectId, [
    turn(projectId, "own", "t", [0, 1], { wb_run_id: `${projectId}/r1` }),
    turn(projectId, "foreign", "t", [0, 1], { wb_run_id: "other/project/r1" }),
  ]);
  const tracing = service.tracing();
  const found = async (runIds: string[]) => {
    const request = { project_id: projectId, filter: { wb_run_ids: runIds } };
    const { calls } = await tracing.callsQuery(request);
    expect((await tracing.callsQueryStats(request)).count).toBe(calls.length);
    return calls.map(({ id }) => id).toSorted();
  };
  expect(await found(["r1"])).toEqual(["own"]);
  expect(await found(["r1", "other/project/r1"])).toEqual(["foreign", "own"]);
});
