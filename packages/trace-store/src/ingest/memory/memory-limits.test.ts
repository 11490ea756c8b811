import { newId } from "@heddle/trace-model";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { completePart, endPart, newProject, startPart, visibleCalls } from "../../../test/call-parts.js";
import { listCalls } from "../../../test/list-calls.js";
import { testDatabase } from "../../../test/store.js";
import type { TraceStore } from "../../store.js";

const limits = {
  knownCallBytes: 0,
  newestCallBytes: 0,
  openCallBytes: 0,
  openSideCacheBytes: 0,
  deletedCallBytes: 0,
  hiddenCallBytes: 0,
  namedProjectBytes: 0,
  retentionBytes: 0,
  usageBytes: 0,
};

describe.each([
  { memory: "usual", options: {} },
  { memory: "no", options: { limits } },
])("a store with $memory memory", ({ options }) => {
  const db = testDatabase();
  let store: TraceStore;
  beforeAll(async () => {
    store = await db.open(options);
  });
  afterAll(() => db.drop());

  test("shows each call once, as it was sent last, and none that was deleted", async () => {
    const projects = [newProject(), newProject()];
    const ids = Array.from({ length: 6 }, () => newId());
    const [ended, replaced, deleted, named, running] = ids as [string, string, string, string, string];
    for (const projectId of projects) {
      await store.ingest([
        startPart({ project_id: projectId, id: ended }),
        ...[replaced, deleted, named].map((id) => completePart({ project_id: projectId, id })),
        startPart({ project_id: projectId, id: running }),
      ]);
    }
    for (const restarted of [false, true]) {
      if (restarted) {
        await store.close();
        store = await db.open(options);
      }
      for (const projectId of projects) {
        await store.ingest([
          endPart({ project_id: projectId, id: ended }),
          endPart({ project_id: projectId, id: replaced, output: `"${restarted}"` }),
        ]);
        await store.calls.delete(projectId, [deleted], "user");
        await store.calls.rename(projectId, named, "a name");
        for (const compacted of [false, true]) {
          if (compacted) await store.maintain(true);
          await store.ingest([completePart({ project_id: projectId, id: deleted })]);
          const listed = await listCalls(store, { project_id: projectId });
          const expected = [ended, replaced, named, running].toSorted();
          expect(listed.map(({ id }) => id).toSorted()).toEqual(expected);
          expect(await visibleCalls(db.engine, projectId)).toHaveLength(expected.length);
          expect(await store.calls.count({ project_id: projectId })).toMatchObject({ count: expected.length });
          expect(listed.find(({ id }) => id === named)?.display_name).toBe("a name");
          expect(listed.find(({ id }) => id === replaced)?.output).toBe(`"${restarted}"`);
        }
      }
    }
    const { memory } = store.load();
    if ("limits" in options)
      expect([memory.deleted_calls, memory.hidden_calls, memory.named_projects, memory.retention]).toEqual([
        0, 0, 0, 0,
      ]);
    else expect(memory.deleted_calls).toBeGreaterThan(0);
  }, 120_000);

  test("drops late parts of any number of deleted calls", async () => {
    const projectId = newProject();
    await db.engine.command({
      sql: `INSERT INTO call_hidden (project_id, id, version, started_at, reason, hidden_by, compacted_at, row_version)
        SELECT '${projectId}', concat('gone', toString(number)), 0, now64(6), 'deleted', '', now64(3), 1 FROM numbers(10500)`,
    });
    const ids = ["gone0", "gone10499", "kept"];
    await store.ingest(ids.map((id) => completePart({ project_id: projectId, id })));
    expect((await visibleCalls(db.engine, projectId)).map(({ id }) => id)).toEqual(["kept"]);
    expect(store.load().memory.deleted_calls).toBeLessThan(10_000);
  });
});
