import { afterAll, expect, test } from "vitest";
import { completePart, newProject, startPart, visibleCalls } from "../test/call-parts.js";
import { testDatabase } from "../test/store.js";

const db = testDatabase();
afterAll(async () => await db.drop());

test("whoever may not write any more is busy, whatever it is asked to write, and still reads", async () => {
  const project_id = newProject();
  let alone = true;
  const store = await db.open({ mayWrite: () => alone });
  await store.ingest([completePart({ project_id, id: "before" })]);
  alone = false;
  const busy = { code: "busy" };
  await expect(store.ingest([completePart({ project_id, id: "late" })])).rejects.toMatchObject(busy);
  await expect(store.calls.delete(project_id, ["before"], "ann")).rejects.toMatchObject(busy);
  await expect(store.calls.rename(project_id, "before", "name")).rejects.toMatchObject(busy);
  await expect(store.maintain(true)).rejects.toMatchObject(busy);
  expect((await visibleCalls(db.engine, project_id)).map(({ id }) => id)).toEqual(["before"]);
  alone = true;
  store.engineRestarted();
  await store.ingest([completePart({ project_id, id: "after" })]);
  expect((await visibleCalls(db.engine, project_id)).map(({ id }) => id).toSorted()).toEqual(["after", "before"]);
});

test("a writer that comes back knows what the other one wrote meanwhile", async () => {
  const project_id = newProject();
  let first = true;
  const stores = [await db.open({ mayWrite: () => first }), await db.open({ mayWrite: () => !first })] as const;
  await stores[0].ingest([startPart({ project_id, id: "handed-over" })]);
  first = false;
  stores[1].engineRestarted();
  await stores[1].ingest([completePart({ project_id, id: "handed-over" }), completePart({ project_id, id: "new" })]);
  first = true;
  stores[0].engineRestarted();
  await stores[0].ingest([completePart({ project_id, id: "handed-over" }), startPart({ project_id, id: "new" })]);
  expect((await visibleCalls(db.engine, project_id)).map(({ id }) => id).toSorted()).toEqual(["handed-over", "new"]);
});

test("a commit that loses the right to write in the middle is mended before the next", async () => {
  const project_id = newProject();
  let left = Infinity;
  const store = await db.open({ mayWrite: () => left-- > 0 });
  await store.ingest([startPart({ project_id, id: "call" })]);
  // The complete row may still be written, the closing of its half not.
  left = 1;
  await expect(store.ingest([completePart({ project_id, id: "call" })])).rejects.toMatchObject({ code: "busy" });
  left = Infinity;
  await store.ingest([completePart({ project_id, id: "call" })]);
  expect(await visibleCalls(db.engine, project_id)).toHaveLength(1);
});
