import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completePart, endPart, newProject, nowUs, startPart } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";
import type { Thread, ThreadsQuery } from "./threads.js";

const db = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await db.open();
});
afterAll(() => db.drop());

const baseUs = nowUs() - 3_600_000_000n;
const at = (ms: number) => baseUs + BigInt(ms) * 1000n;

interface Turn {
  from: number;
  /** Absent: it still runs. */
  to?: number;
}

/** A turn with a call below it, which must not count. Times are milliseconds. */
function turnParts(projectId: string, thread: string, id: string, { from, to }: Turn) {
  const turn = { project_id: projectId, id, thread_id: thread, turn_id: id, started_at: at(from) };
  const child = { ...turn, id: `${id}-child`, trace_id: id, parent_id: id, started_at: at(from - 5000) };
  if (to === undefined) return [startPart(turn)];
  return [completePart(turn, { ended_at: at(to) }), completePart(child, { ended_at: at(to + 5000) })];
}

async function list(projectId: string, request: Omit<ThreadsQuery, "project_id"> = {}): Promise<Thread[]> {
  const threads: Thread[] = [];
  for await (const thread of store.threads.query({ project_id: projectId, ...request })) threads.push(thread);
  return threads;
}
const names = async (projectId: string, request?: Omit<ThreadsQuery, "project_id">) =>
  (await list(projectId, request)).map(({ thread_id }) => thread_id);

it("a thread is the sum of its turns; what runs counts, what is below a turn does not", async () => {
  const projectId = newProject();
  await store.ingest([
    ...turnParts(projectId, "talk", "one", { from: 0, to: 9000 }),
    ...turnParts(projectId, "talk", "two", { from: 1000, to: 2000 }),
    ...turnParts(projectId, "talk", "three", { from: 3000, to: 5000 }),
    ...turnParts(projectId, "talk", "running", { from: -1000 }),
    ...turnParts(newProject(), "talk", "foreign", { from: -9000, to: 90_000 }),
    completePart({ project_id: projectId, id: "loose", turn_id: "loose" }),
    completePart({ project_id: projectId, id: "other", thread_id: "no turns", turn_id: "elsewhere" }),
  ]);
  expect(await list(projectId)).toEqual([
    {
      thread_id: "talk",
      turn_count: 4,
      start_time: at(-1000),
      last_updated: at(9000),
      first_turn_id: "running",
      last_turn_id: "one",
      // Durations 1000, 2000 and 9000, interpolated.
      p50_turn_duration_ms: 2000,
      p99_turn_duration_ms: expect.closeTo(8860, 6),
    },
  ]);
});

it("a thread appears once a turn of it has ended, and goes with its last turn", async () => {
  const projectId = newProject();
  await store.ingest(turnParts(projectId, "t", "a", { from: 0 }));
  expect(await list(projectId)).toEqual([]);
  await store.ingest([endPart({ project_id: projectId, id: "a", ended_at: at(1) })]);
  expect(await list(projectId)).toMatchObject([{ thread_id: "t", turn_count: 1, p99_turn_duration_ms: 1 }]);
  // A turn that is sent again replaces the first.
  await store.ingest(turnParts(projectId, "t", "a", { from: 0, to: 7 }));
  expect(await list(projectId)).toMatchObject([{ turn_count: 1, p50_turn_duration_ms: 7, last_updated: at(7) }]);
  await store.calls.delete(projectId, ["a"], "user");
  expect(await list(projectId)).toEqual([]);
});

describe("the filter acts on turns", () => {
  const projectId = newProject();
  beforeAll(() =>
    store.ingest([
      ...turnParts(projectId, "x", "x1", { from: 0, to: 1000 }),
      ...turnParts(projectId, "x", "x2", { from: 2000, to: 2500 }),
      ...turnParts(projectId, "x", "x3", { from: 4000 }),
      ...turnParts(projectId, "y", "y1", { from: 2000, to: 6000 }),
    ]),
  );

  it.each<[string, ThreadsQuery["filter"], Array<[string, number]>]>([
    [
      "nothing",
      {},
      [
        ["y", 1],
        ["x", 3],
      ],
    ],
    [
      "an empty list",
      { thread_ids: [] },
      [
        ["y", 1],
        ["x", 3],
      ],
    ],
    ["threads", { thread_ids: ["x", "missing"] }, [["x", 3]]],
    ["threads that are missing", { thread_ids: ["missing"] }, []],
    [
      "later, not at",
      { after_datetime: at(0) },
      [
        ["y", 1],
        ["x", 2],
      ],
    ],
    ["earlier, not at", { before_datetime: at(2000) }, [["x", 1]]],
    [
      "between",
      { after_datetime: at(0), before_datetime: at(4000) },
      [
        ["y", 1],
        ["x", 1],
      ],
    ],
    ["only running turns", { after_datetime: at(2000) }, []],
  ])("%s", async (_, filter, expected) => {
    const found = await list(projectId, { filter });
    expect(found.map(({ thread_id, turn_count }) => [thread_id, turn_count])).toEqual(expected);
  });
});

describe("order and pages", () => {
  const projectId = newProject();
  beforeAll(() =>
    store.ingest([
      ...turnParts(projectId, "a", "a1", { from: 0, to: 9000 }),
      ...turnParts(projectId, "b", "b1", { from: 1000, to: 2000 }),
      ...turnParts(projectId, "b", "b2", { from: 3000, to: 9000 }),
      ...turnParts(projectId, "c", "c1", { from: 2000, to: 5000 }),
    ]),
  );

  it.each([
    ["thread_id", "desc", ["c", "b", "a"]],
    ["turn_count", "desc", ["b", "a", "c"]],
    ["start_time", "asc", ["a", "b", "c"]],
    ["last_updated", "asc", ["c", "a", "b"]],
    ["p50_turn_duration_ms", "asc", ["c", "b", "a"]],
    ["p99_turn_duration_ms", "desc", ["a", "b", "c"]],
  ] as const)("by %s %s, then by id", async (field, direction, expected) => {
    expect(await names(projectId, { sort_by: [{ field, direction }] })).toEqual(expected);
  });

  it("the last to be updated comes first unless an order is given", async () => {
    expect(await names(projectId)).toEqual(["a", "b", "c"]);
    expect(await names(projectId, { sort_by: [] })).toEqual(["a", "b", "c"]);
    expect(await names(projectId, { limit: 1, offset: 1 })).toEqual(["b"]);
    expect(await names(projectId, { offset: 2 })).toEqual(["c"]);
    expect(await names(projectId, { offset: 9 })).toEqual([]);
  });
});

it.each<[string, Omit<ThreadsQuery, "project_id">, Array<string | number>]>([
  ["a turn as sort field", { sort_by: [{ field: "first_turn_id", direction: "asc" }] }, ["sort_by", 0, "field"]],
  ["a sort field of JavaScript", { sort_by: [{ field: "constructor", direction: "asc" }] }, ["sort_by", 0, "field"]],
  [
    "too many sort keys",
    { sort_by: Array.from({ length: 21 }, () => ({ field: "thread_id", direction: "asc" as const })) },
    ["sort_by"],
  ],
  ["an empty page", { limit: 0 }, ["limit"]],
  ["a page beyond any", { limit: 2 ** 60 }, ["limit"]],
  ["a negative offset", { offset: -1 }, ["offset"]],
  ["a time before 1900", { filter: { after_datetime: -(10n ** 18n) } }, ["filter", "after_datetime"]],
  [
    "a list that is too long",
    { filter: { thread_ids: Array.from({ length: 1001 }, String) } },
    ["filter", "thread_ids"],
  ],
])("%s is refused before anything is read", (_, request, loc) => {
  const refuse = () => store.threads.query({ project_id: "acme/demo", ...request });
  expect(refuse).toThrow(expect.objectContaining({ code: "invalid", loc }));
});
