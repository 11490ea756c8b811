import { newId } from "@heddle/trace-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await db.open();
});
afterAll(() => db.drop());

test("calls of many projects are counted apart, without deleted and replaced ones", async () => {
  const projects = Array.from({ length: 120 }, () => newProject());
  const [first = "", last = ""] = [projects[0], projects.at(-1)];
  const [gone, twice] = [newId(), newId()];
  const at = (second: number) => BigInt(Date.UTC(2026, 0, 1, 0, 0, second)) * 1000n;
  await store.ingest([
    completePart({ project_id: first, started_at: at(1) }),
    completePart({ project_id: first, id: gone, started_at: at(9) }),
    startPart({ project_id: first, started_at: at(3) }),
    completePart({ project_id: last, id: twice, started_at: at(5) }),
  ]);
  await store.ingest([completePart({ project_id: last, id: twice, started_at: at(4) })]);
  await store.calls.delete(first, [gone], "ann");
  const counted = await store.projectCalls(projects);
  expect(counted[0]).toEqual({ call_count: 2, running: 1, last_started_at: at(3) });
  expect(counted.at(-1)).toEqual({ call_count: 1, running: 0, last_started_at: at(4) });
  expect(counted.slice(1, -1)).toEqual(
    projects.slice(1, -1).map(() => ({ call_count: 0, running: 0, last_started_at: undefined })),
  );
});

test("running calls that are only in the table are counted, too", async () => {
  const projectId = newProject();
  await store.ingest(Array.from({ length: 1001 }, () => startPart({ project_id: projectId })));
  expect(await store.projectCalls([projectId])).toMatchObject([{ call_count: 1001, running: 1001 }]);
});

test("no projects have no calls", async () => {
  expect(await store.projectCalls([])).toEqual([]);
});
