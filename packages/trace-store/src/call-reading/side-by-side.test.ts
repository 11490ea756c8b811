import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { completePart, endPart, newProject, startPart } from "../../test/call-parts.js";
import { listIds } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import type { Engine } from "../engine/engine.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
const t0 = 1_775_811_600_000_000n;
const sent: string[] = [];
/** Runs before a read of running calls alone. */
let beforeRunning = async (): Promise<void> => {};
/** Runs after one of complete calls alone. */
let afterComplete = (): void => {};
let store: TraceStore;

/** Which calls the statement reads. */
function tablesOf(sql: string): string {
  if (sql.includes("UNION ALL")) return "both";
  return sql.includes("FROM call_parts") ? "running" : "complete";
}

const delayed = (engine: Engine): Engine => ({
  ...engine,
  async rows(source, options) {
    const statement = typeof source === "function" ? source() : source;
    const tables = tablesOf(statement.sql);
    sent.push(tables);
    if (tables === "running") await beforeRunning();
    try {
      return await engine.rows(statement, options);
    } finally {
      if (tables === "complete") afterComplete();
    }
  },
});

beforeAll(async () => {
  store = await db.open({ wrapEngine: delayed, limits: { openSideCacheBytes: 0 } });
});
afterAll(() => db.drop());
beforeEach(() => {
  sent.length = 0;
  beforeRunning = async () => {};
  afterComplete = () => {};
});

it("a page of complete and running calls is in the order of a stream, forwards and backwards, from any offset", async () => {
  const projectId = newProject();
  // Many start at once, where the bytes of the ids decide: U+10000 follows U+FFFF.
  const ids = ["a", "B", "\u{10000}", "\u{ffff}", "é", "z"].flatMap((name) => [1, 2, 3].map((n) => `${name}${n}`));
  await store.ingest(
    ids.map((id, n) => {
      const fields = { project_id: projectId, id, started_at: t0 + BigInt((n % 4) * 1_000_000) };
      return n % 3 === 0 ? startPart(fields) : completePart(fields);
    }),
  );
  for (const direction of ["asc", "desc"] as const) {
    const request = { project_id: projectId, sort_by: [{ field: "started_at", direction }] };
    const all = await listIds(store, request);
    expect(all.toSorted()).toEqual(ids.toSorted());
    for (const [limit, offset] of [
      [100, 0],
      [5, 0],
      [7, 4],
      [3, 16],
    ] as const) {
      sent.length = 0;
      expect(await listIds(store, { ...request, limit, offset })).toEqual(all.slice(offset, offset + limit));
      expect(sent.toSorted()).toEqual(["complete", "running"]);
    }
  }
});

it("a call that ends between the reads of both tables is not missed", async () => {
  const projectId = newProject();
  await store.ingest(["one", "two"].map((id) => startPart({ project_id: projectId, id })));
  const completeAreRead = new Promise<void>((resolve) => (afterComplete = resolve));
  beforeRunning = async () => {
    await completeAreRead;
    await store.ingest(["one", "two"].map((id) => endPart({ project_id: projectId, id })));
  };
  expect((await listIds(store, { project_id: projectId, limit: 10 })).toSorted()).toEqual(["one", "two"]);
  expect(sent).toEqual(["running", "complete", "complete"]);
});

it("calls that end in another project cost no further read", async () => {
  const [projectId, other] = [newProject(), newProject()];
  await store.ingest([
    startPart({ project_id: projectId, id: "mine" }),
    startPart({ project_id: other, id: "theirs" }),
    completePart({ project_id: projectId, id: "done" }),
  ]);
  beforeRunning = async () => {
    await store.ingest([endPart({ project_id: other, id: "theirs" })]);
  };
  sent.length = 0;
  expect((await listIds(store, { project_id: projectId, limit: 10 })).toSorted()).toEqual(["done", "mine"]);
  expect(sent.filter((tables) => tables === "both")).toEqual([]);
});

it("pages during a stream of ends never miss a call", async () => {
  const projectId = newProject();
  const ids = Array.from({ length: 40 }, (_, n) => `c${n}`);
  await store.ingest(ids.map((id) => startPart({ project_id: projectId, id })));
  const ends = { left: ids.length };
  const writing = (async () => {
    for (const id of ids) {
      await store.ingest([endPart({ project_id: projectId, id })]);
      ends.left--;
    }
  })();
  while (ends.left > 0) {
    const found = await listIds(store, { project_id: projectId, limit: 100 });
    expect(found.toSorted()).toEqual(ids.toSorted());
  }
  await writing;
});
