import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "@heddle/trace-model";
import {
  completePart,
  endPart,
  newProject,
  nowUs,
  openSides,
  startPart,
  visibleCalls,
} from "../../../test/call-parts.js";
import { testDatabase } from "../../../test/store.js";
import type { TraceStore } from "../../store.js";

const db = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await db.open();
});
afterAll(() => db.drop());

/** A trace of a root, a finished and a running child, and a grandchild; and one call outside it. */
async function family(projectId: string) {
  const [root, finished, running, grandchild, beside] = [newId(), newId(), newId(), newId(), newId()];
  await store.ingest([
    completePart({ project_id: projectId, id: root, trace_id: root }),
    completePart({ project_id: projectId, id: finished, trace_id: root, parent_id: root }),
    startPart({ project_id: projectId, id: running, trace_id: root, parent_id: root }),
    completePart({ project_id: projectId, id: grandchild, trace_id: root, parent_id: running }),
    completePart({ project_id: projectId, id: beside, trace_id: root }),
  ]);
  return { root, finished, running, grandchild, beside };
}

test("a deleted call takes its descendants along, finished and running, and leaves the rest of the trace", async () => {
  const projectId = newProject();
  const { root, beside } = await family(projectId);
  expect(await store.calls.delete(projectId, [root], "user")).toEqual({ num_deleted: 4 });
  expect((await visibleCalls(db.engine, projectId)).map(({ id }) => id)).toEqual([beside]);
  expect(await openSides(db.engine, projectId)).toEqual([]);
});

test("deleting counts the ids asked for, known or not, and can be repeated", async () => {
  const projectId = newProject();
  const { finished } = await family(projectId);
  const ids = [finished, finished, "unknown", ""];
  expect(await store.calls.delete(projectId, ids, "user")).toEqual({ num_deleted: 3 });
  expect(await store.calls.delete(projectId, ids, "user")).toEqual({ num_deleted: 3 });
  expect(await store.calls.delete(projectId, [], "user")).toEqual({ num_deleted: 0 });
  const guards = await db.engine.rows({
    sql: `SELECT id, hidden_by FROM call_hidden WHERE project_id = '${projectId}'`,
  });
  expect(guards).toEqual([{ id: finished, hidden_by: "user" }]);
});

test("parts that come after the delete stay out, also after a restart; children that come later are seen", async () => {
  const projectId = newProject();
  const { root, running } = await family(projectId);
  const early = newId();
  await store.ingest([endPart({ project_id: projectId, id: early })]);
  await store.calls.delete(projectId, [root, early], "user");
  const late = [
    endPart({ project_id: projectId, id: running }),
    startPart({ project_id: projectId, id: early }),
    completePart({ project_id: projectId, id: root, started_at: nowUs() - 86_400_000_000n }),
  ];
  await store.ingest(late);
  await store.maintain(true);
  await store.ingest(late);
  const again = await db.open();
  await again.ingest(late);
  expect(await visibleCalls(db.engine, projectId)).toHaveLength(1);
  const child = newId();
  await again.ingest([completePart({ project_id: projectId, id: child, trace_id: root, parent_id: root })]);
  expect((await visibleCalls(db.engine, projectId)).map(({ id }) => id)).toContain(child);
  await again.close();
});

test("a call that was replaced is deleted in every version", async () => {
  const projectId = newProject();
  const id = newId();
  for (const output of ["1", "2", "3"]) await store.ingest([completePart({ project_id: projectId, id }, { output })]);
  await store.calls.delete(projectId, [id], "user");
  expect(await visibleCalls(db.engine, projectId)).toEqual([]);
});

test("a call can be renamed before it arrives, again, and to nothing; a deleted one cannot", async () => {
  const projectId = newProject();
  const names = async () =>
    await db.engine.rows({ sql: `SELECT id, display_name FROM call_names FINAL WHERE project_id = '${projectId}'` });
  await store.calls.rename(projectId, "a", "first");
  await store.calls.rename(projectId, "a", "se\tcond");
  expect(await names()).toEqual([{ id: "a", display_name: "se\tcond" }]);
  await store.calls.rename(projectId, "a", "");
  expect(await names()).toEqual([{ id: "a", display_name: "" }]);
  await store.ingest([startPart({ project_id: projectId, id: "a" }), startPart({ project_id: projectId, id: "b" })]);
  await store.calls.delete(projectId, ["b"], "user");
  await store.calls.rename(projectId, "b", "late");
  expect(await names()).toHaveLength(1);
});
