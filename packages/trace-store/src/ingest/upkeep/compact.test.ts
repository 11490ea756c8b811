import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "@heddle/trace-model";
import { completePart, endPart, newProject, startPart, visibleCalls } from "../../../test/call-parts.js";
import { testDatabase } from "../../../test/store.js";
import type { TraceStore } from "../../store.js";

const db = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await db.open();
});
afterAll(() => db.drop());

const count = async (sql: string): Promise<number> =>
  Number((await db.engine.rows<{ n: string }>({ sql: `SELECT count() AS n FROM ${sql}` }))[0]?.n);

test("compaction removes what is hidden, keeps the guard of deleted calls, and readers see the same", async () => {
  const projectId = newProject();
  const scope = `project_id = '${projectId}'`;
  const [kept, replaced, deleted, running] = [newId(), newId(), newId(), newId()];
  await store.ingest([
    completePart({ project_id: projectId, id: kept }),
    completePart({ project_id: projectId, id: replaced }),
    completePart({ project_id: projectId, id: deleted }),
    startPart({ project_id: projectId, id: running }),
  ]);
  await store.calls.rename(projectId, deleted, "gone");
  await store.ingest([endPart({ project_id: projectId, id: replaced, output: '"newer"' })]);
  await store.calls.delete(projectId, [deleted, running], "user");
  const before = await visibleCalls(db.engine, projectId);
  expect(before).toHaveLength(2);

  await store.maintain(true);
  expect(await visibleCalls(db.engine, projectId)).toEqual(before);
  expect(await count(`calls WHERE ${scope}`)).toBe(2);
  expect(await count(`call_parts WHERE ${scope}`)).toBe(0);
  expect(await count(`call_names WHERE ${scope}`)).toBe(0);
  expect(await count(`call_hidden FINAL WHERE ${scope} AND compacted_at IS NULL`)).toBe(0);
  expect(await count(`call_hidden FINAL WHERE ${scope} AND version = 0`)).toBe(2);

  // What was compacted earlier and guards nothing goes with the next compaction.
  await store.ingest([endPart({ project_id: projectId, id: kept, output: '"newest"' })]);
  await store.maintain(true);
  expect(await count(`call_hidden FINAL WHERE ${scope} AND version > 0`)).toBe(1);
  expect(await visibleCalls(db.engine, projectId)).toHaveLength(2);
});

test("closed sides are gone after a clean-up", async () => {
  const projectId = newProject();
  const ids = Array.from({ length: 50 }, () => newId());
  await store.ingest(ids.map((id) => startPart({ project_id: projectId, id })));
  await store.ingest(ids.slice(0, 49).map((id) => endPart({ project_id: projectId, id })));
  await store.maintain(true);
  expect(await count(`call_parts WHERE project_id = '${projectId}'`)).toBe(1);
  expect(await visibleCalls(db.engine, projectId)).toHaveLength(50);
});

test("an end whose start never comes is given up after 30 days", async () => {
  const projectId = newProject();
  await store.ingest([endPart({ project_id: projectId, id: newId() })]);
  const [row] = await db.engine.rows<{ days: number }>({
    sql: `SELECT dateDiff('hour', now(), expire_at) / 24 AS days FROM call_parts WHERE project_id = '${projectId}'`,
  });
  expect(row?.days).toBeCloseTo(30, 0);
});
