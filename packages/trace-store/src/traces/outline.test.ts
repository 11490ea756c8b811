import { afterAll, beforeAll, expect, test } from "vitest";
import { completePart, endPart, newProject, nowUs, startPart } from "../../test/call-parts.js";
import { MemoryMeter } from "../../test/memory-meter.js";
import { testDatabase } from "../../test/store.js";
import { IngestState, defaultLimits } from "../ingest/memory/state.js";
import type { TraceStore } from "../store.js";
import type { TraceOutline, TraceOutlineRequest } from "./outline.js";
import { openTraces } from "./traces.js";

const db = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await db.open();
});
afterAll(() => db.drop());

const t0 = nowUs();
const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const at = (ms: number) => t0 + BigInt(ms) * 1000n;

const outline = async (projectId: string, more: Partial<TraceOutlineRequest> = {}) =>
  await store.traces.outline({ project_id: projectId, trace_id: traceId, ...more });

/** Each call as `id<parent`, in order. */
const textOf = ({ ids, parent }: TraceOutline): string =>
  ids.map((id, place) => `${id}<${ids[parent[place] ?? -1] ?? ""}`).join(" ");

test("a trace comes as a tree, with what a row of it shows", async () => {
  const projectId = newProject();
  const inTrace = { project_id: projectId, trace_id: traceId };
  const usage = '{"usage":{"gpt-4o":{"prompt_tokens":5,"completion_tokens":2}}}';
  const attributes = '{"weave":{"client_version":"1","kind":"agent"}}';
  await store.costs.create({
    project_id: projectId,
    costs: { "gpt-4o": { prompt_token_cost: 1, completion_token_cost: 10, effective_date: at(-1000) } },
  });
  await store.ingest([
    // Ends and children come before starts and parents.
    endPart({ project_id: projectId, id: "root", ended_at: at(90), summary: usage }),
    completePart(
      { ...inTrace, id: "llm", parent_id: "root", started_at: at(20), op_name: "chat" },
      { ended_at: at(30), summary: usage, exception: "boom" },
    ),
    completePart(
      { ...inTrace, id: "first", parent_id: "root", started_at: at(10), op_name: "chat" },
      { ended_at: at(15), output: "null" },
    ),
    startPart({
      ...inTrace,
      id: "running",
      parent_id: "never",
      started_at: at(5),
      attributes: '{"weave":{"kind":"tool"}}',
    }),
  ]);
  await store.ingest([
    startPart({ ...inTrace, id: "root", started_at: at(0), op_name: "weave:///acme/demo/op/answer:abc", attributes }),
  ]);
  await store.calls.rename(projectId, "first", "renamed");
  const found = await outline(projectId, { include: ["costs", "sizes"] });
  expect(found).toEqual({
    seq: expect.any(BigInt),
    total: 4,
    complete: true,
    names: found.names,
    ids: ["root", "first", "llm", "running"],
    parent: [-1, 0, 0, -1],
    name: found.name,
    kind: ["agent", "other", "model", "tool"],
    status: ["success", "success", "error", "running"],
    start_us: [0, 10, 20, 5].map((ms) => Number(at(ms))),
    end_us: [...[90, 15, 30].map((ms) => Number(at(ms))), null],
    tokens: [0, 0, 7, 0],
    cost: [null, null, 25, null],
    size: found.size,
    children: [2, 0, 0, 0],
    missing_parents: [{ id: "never", first: 3, children: 1 }],
    cycles: 0,
  });
  expect(found.name.map((place) => found.names[place])).toEqual(["answer", "renamed", "chat", "answer"]);
  for (const [place, id] of found.ids.entries()) {
    const call = await store.calls.read({ project_id: projectId, id, include_storage_size: true });
    expect(found.size?.[place]).toBe(call?.storage_size_bytes);
  }
});

test("digests tell calls apart by what was sent to them and what they returned, and by nothing else", async () => {
  const projectId = newProject();
  const span = (id: string, ms: number, inputs: string, output: string, exception?: string) =>
    completePart(
      { project_id: projectId, trace_id: traceId, id, started_at: at(ms), inputs, attributes: `{"ms":${ms}}` },
      { ended_at: at(ms + 5), output, ...(exception !== undefined && { exception }), summary: `{"ms":${ms}}` },
    );
  // Texts that the engine cannot read are told apart, too: to it these are one and the same.
  const deep = (within: string) => "[".repeat(2000) + within + "]".repeat(2000);
  await store.ingest([
    span("a", 0, '{"n":1.0}', '"yes"'),
    span("same", 1, '{"n":1.0}', '"yes"'),
    span("other output", 2, '{"n":1.0}', '"nay"'),
    span("other inputs", 3, '{"n":1}', '"yes"'),
    span("failed", 4, '{"n":1.0}', '"yes"', "boom"),
    span("deep", 5, '{"n":1.0}', deep("1")),
    span("other deep", 6, '{"n":1.0}', deep("2")),
    startPart({ project_id: projectId, trace_id: traceId, id: "running", started_at: at(7), inputs: '{"n":1.0}' }),
  ]);
  const {
    ids,
    input_digest: inputs = [],
    output_digest: outputs = [],
  } = await outline(projectId, { include: ["digests"] });
  const alike = (digests: string[]) => ids.filter((_, place) => digests[place] === digests[0]);
  expect(alike(inputs)).toEqual(ids.filter((id) => id !== "other inputs"));
  expect(alike(outputs)).toEqual(["a", "same", "other inputs"]);
  expect(new Set(outputs).size).toBe(6);
  for (const digest of [...inputs, ...outputs]) expect(digest).toMatch(/^[0-9a-f]{8}$/);
  expect(await outline(projectId)).not.toHaveProperty("input_digest");
});

test("deleted calls, those of other projects with the same trace id, and replaced versions are not there", async () => {
  const [projectId, other] = [newProject(), newProject()];
  const span = (id: string, parentId: string, ms: number, project = projectId) =>
    completePart({ project_id: project, trace_id: traceId, id, parent_id: parentId, started_at: at(ms) });
  await store.ingest([span("a", "", 0), span("b", "a", 1), span("c", "b", 2), span("d", "a", 3)]);
  await store.ingest([span("a", "", 0, other), span("x", "a", 1, other)]);
  // Sent again with another parent and another start.
  await store.ingest([span("d", "c", 4)]);
  expect(textOf(await outline(projectId))).toBe("a< b<a c<b d<c");
  expect(textOf(await outline(other))).toBe("a< x<a");
  await store.calls.delete(projectId, ["b"], "ann");
  expect(await outline(projectId)).toMatchObject({ ids: ["a"], children: [0], missing_parents: [], total: 1 });
  expect(await outline(newProject())).toMatchObject({ ids: [], total: 0, complete: true });
});

test("calls above themselves are there, each once", async () => {
  const projectId = newProject();
  const span = (id: string, parentId: string, ms: number) =>
    completePart({ project_id: projectId, trace_id: traceId, id, parent_id: parentId, started_at: at(ms) });
  await store.ingest([
    span("self", "self", 0),
    span("a", "c", 1),
    span("b", "a", 2),
    span("c", "b", 3),
    span("d", "b", 4),
  ]);
  const found = await outline(projectId);
  expect([textOf(found), found.cycles]).toEqual(["self< a< b<a c<b d<b", 2]);
});

test("a call that ends is there at every moment, and once", async () => {
  const projectId = newProject();
  await store.ingest([startPart({ project_id: projectId, trace_id: traceId, id: "a" })]);
  const ending = store.ingest([endPart({ project_id: projectId, id: "a" })]);
  for (let round = 0; round < 5; round++) expect((await outline(projectId)).ids).toEqual(["a"]);
  await ending;
  expect((await outline(projectId)).status).toEqual(["success"]);
});

test("of a trace with too many calls the earliest are read, or those since the root that is asked for", async () => {
  const projectId = newProject();
  const span = (id: string, parentId: string, ms: number) =>
    completePart({ project_id: projectId, trace_id: traceId, id, parent_id: parentId, started_at: at(ms) });
  // The parent of "early" starts after all that is read.
  await store.ingest([
    span("a", "", 0),
    span("b", "a", 1),
    span("early", "late", 2),
    span("c", "a", 3),
    span("late", "a", 4),
    span("e", "late", 5),
  ]);
  const context = {
    engine: db.engine,
    now: nowUs,
    inFlight: new IngestState(defaultLimits),
    costs: { book: async () => await Promise.reject(new Error("no costs")) },
    settled: () => 0n,
  };
  const cut = async (more: Partial<TraceOutlineRequest>, most: number) => {
    const found = await openTraces(context, most).outline({ project_id: projectId, trace_id: traceId, ...more });
    return [textOf(found), found.total, found.complete, found.missing_parents];
  };
  expect(await cut({}, 4)).toEqual(["a< b<a c<a", 6, false, []]);
  expect(await cut({ root_id: "late" }, 4)).toEqual(["late< e<late", 2, true, []]);
  expect(await cut({ root_id: "nobody" }, 4)).toEqual(["", 0, false, []]);
  expect(await cut({}, 6)).toEqual(["a< b<a c<a late<a early<late e<late", 6, true, []]);
});

test("100,001 calls: the outline has as many as it may, in slices, and reserves what it takes", async () => {
  const projectId = newProject();
  const many = 100_001;
  const columns =
    "project_id, id, trace_id, parent_id, op_name, op_key, started_at, ended_at, latency_us, status, version";
  await db.engine.command({
    sql: `INSERT INTO calls (${columns}) SELECT '${projectId}', toString(number), '${traceId}',
      if(number = 0, '', toString(intDiv(number - 1, 10))), 'answer', 'answer',
      fromUnixTimestamp64Micro(${t0} + number, 'UTC'), fromUnixTimestamp64Micro(${t0} + number + 5, 'UTC'), 5, 'success', number + 1
      FROM numbers(${many})`,
  });
  const meter = new MemoryMeter();
  const request = { project_id: projectId, trace_id: traceId };
  const { ids, parent, total, complete } = await store.traces.outline(request, { reserve: meter.reserve });
  expect([ids.length, total, complete]).toEqual([100_000, many, false]);
  expect(parent.every((above, place) => above < place)).toBe(true);
  expect(meter.total).toBeGreaterThan(100_000 * 200);
  const small = await outline(projectId, { root_id: "5000", limit: 3 });
  expect(small).toMatchObject({ ids: ["5000", "50001", "50002"], children: [10, 0, 0], total: 11, complete: false });
  const refused = store.traces.outline(request, { reserve: async () => await Promise.reject(new Error("no memory")) });
  await expect(refused).rejects.toThrow("no memory");
});
