import { afterAll, expect, it } from "vitest";
import { newId } from "@heddle/trace-model";
import { completePart, newProject } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";

const db = testDatabase();
afterAll(() => db.drop());

it("what is compacted between the two reads of a count is subtracted once", async () => {
  // Between the two the engine would see other parts, if it did not share what it sees within a statement.
  const settings = { merge_tree_storage_snapshot_sleep_ms: "100" };
  const store = await db.open({
    wrapEngine: (engine) => ({
      ...engine,
      rows: (statement, options) =>
        engine.rows(statement, { ...options, settings: { ...options?.settings, ...settings } }),
    }),
  });
  const projectId = newProject();
  const ids = Array.from({ length: 50 }, () => newId());
  await store.ingest(ids.map((id) => completePart({ project_id: projectId, id })));
  await store.calls.delete(projectId, ids.slice(0, 20), "user");
  const compaction = { isDone: false };
  const counts = (async () => {
    const seen = new Set<number>();
    while (!compaction.isDone) seen.add((await store.calls.count({ project_id: projectId })).count);
    return seen;
  })();
  await store.maintain(true);
  compaction.isDone = true;
  expect(await counts).toEqual(new Set([30]));
});
