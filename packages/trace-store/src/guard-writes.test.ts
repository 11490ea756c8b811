import { afterAll, expect, test } from "vitest";
import { completePart, newProject, startPart, visibleCalls } from "../test/call-parts.js";
import { listCalls } from "../test/list-calls.js";
import { testDatabase } from "../test/store.js";

const db = testDatabase();
afterAll(async () => await db.drop());

/** Two writers, of which one may write at a time; the first one does nothing in the background any more. */
async function openTwo(isFirst: () => boolean) {
  const first = await db.open({ mayWrite: isFirst });
  await first.maintain();
  return [first, await db.open({ mayWrite: () => !isFirst() })] as const;
}

test("a writer that may not write any more rejects every write as busy, and still reads", async () => {
  const projectId = newProject();
  let alone = true;
  const store = await db.open({ mayWrite: () => alone });
  await store.ingest([completePart({ project_id: projectId, id: "before" })]);
  alone = false;
  const busy = { code: "busy" };
  await expect(store.ingest([completePart({ project_id: projectId, id: "late" })])).rejects.toMatchObject(busy);
  await expect(store.calls.delete(projectId, ["before"], "ann")).rejects.toMatchObject(busy);
  await expect(store.calls.rename(projectId, "before", "name")).rejects.toMatchObject(busy);
  await expect(store.maintain(true)).rejects.toMatchObject(busy);
  expect((await visibleCalls(db.engine, projectId)).map(({ id }) => id)).toEqual(["before"]);
  alone = true;
  store.engineRestarted();
  await store.ingest([completePart({ project_id: projectId, id: "after" })]);
  expect((await visibleCalls(db.engine, projectId)).map(({ id }) => id).toSorted()).toEqual(["after", "before"]);
});

test("a write during which the right to write was lost is not acknowledged", async () => {
  const projectId = newProject();
  let alone = true;
  const store = await db.open({
    mayWrite: () => alone,
    wrapEngine: (engine) => ({
      ...engine,
      async insert(table, columns, rows) {
        await engine.insert(table, columns, rows);
        // The process was suspended between the insert and its response, and another one has taken over.
        alone = false;
      },
    }),
  });
  const late = store.ingest([completePart({ project_id: projectId, id: "late" })]);
  await expect(late).rejects.toMatchObject({ code: "busy", message: expect.stringContaining("may be stored") });
});

test("a writer that comes back knows what the other one wrote meanwhile", async () => {
  const projectId = newProject();
  let first = true;
  const stores = await openTwo(() => first);
  await stores[0].ingest([startPart({ project_id: projectId, id: "handed-over" })]);
  first = false;
  stores[1].engineRestarted();
  await stores[1].ingest([
    completePart({ project_id: projectId, id: "handed-over" }),
    completePart({ project_id: projectId, id: "new" }),
  ]);
  first = true;
  stores[0].engineRestarted();
  await stores[0].ingest([
    completePart({ project_id: projectId, id: "handed-over" }),
    startPart({ project_id: projectId, id: "new" }),
  ]);
  expect((await visibleCalls(db.engine, projectId)).map(({ id }) => id).toSorted()).toEqual(["handed-over", "new"]);
});

test("objects that another process may have written meanwhile are not read from memory", async () => {
  const projectId = newProject();
  let first = true;
  const stores = await openTwo(() => first);
  const publish = async (writer: 0 | 1, val: string) =>
    await stores[writer].objects.create({ project_id: projectId, object_id: "prompt", val });
  const latest = async () =>
    await stores[0].objects.read({ project_id: projectId, object_id: "prompt", digest: "latest" });
  await publish(0, '"one"');
  first = false;
  await publish(1, '"two"');
  // It remembers that this is the latest, which it is not any more.
  await expect(publish(0, '"one"')).rejects.toMatchObject({ code: "busy" });
  first = true;
  stores[0].engineRestarted();
  expect(await publish(0, '"one"')).toMatchObject({ version_index: 0 });
  expect(await latest()).toMatchObject({ val: '"one"' });
  expect(await publish(0, '"three"')).toMatchObject({ version_index: 2 });
});

test("what another process deletes and renames meanwhile is deleted and renamed for readers", async () => {
  const projectId = newProject();
  let first = true;
  const stores = await openTwo(() => first);
  const parts = ["kept", "deleted"].map((id) => completePart({ project_id: projectId, id }));
  await stores[0].ingest(parts);
  first = false;
  stores[1].engineRestarted();
  await stores[1].calls.delete(projectId, ["deleted"], "ann");
  await stores[1].calls.rename(projectId, "kept", "new name");
  const seen = await listCalls(stores[0], { project_id: projectId });
  expect(seen).toMatchObject([{ id: "kept", display_name: "new name" }]);
});

test("a commit that loses the right to write in the middle is repaired before the next", async () => {
  const projectId = newProject();
  let left = Infinity;
  const store = await db.open({ mayWrite: () => left-- > 0 });
  await store.ingest([startPart({ project_id: projectId, id: "call" })]);
  // The complete row may still be written, and the check after it passes; the closing of its start is refused.
  left = 2;
  await expect(store.ingest([completePart({ project_id: projectId, id: "call" })])).rejects.toMatchObject({
    code: "busy",
  });
  left = Infinity;
  await store.ingest([completePart({ project_id: projectId, id: "call" })]);
  expect(await visibleCalls(db.engine, projectId)).toHaveLength(1);
});
