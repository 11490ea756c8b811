import { afterAll, expect, test, vi } from "vitest";
import { completePart, newProject, visibleCalls } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import type { TestDatabase } from "../../test/store.js";
import type { Engine } from "../engine/engine.js";
import type { TraceStore } from "../store.js";
import type { WriterEpochs } from "./writer-fence.js";

// Each opens stores, which takes its time on a crowded machine.
vi.setConfig({ testTimeout: 120_000 });

const databases: TestDatabase[] = [];
afterAll(async () => {
  for (const one of databases) await one.drop();
}, 120_000);

function writers() {
  const db = testDatabase();
  databases.push(db);
  let given = 0n;
  const epochs: WriterEpochs = { next: async () => (given += 1n), onStored: async () => {} };
  return { db, open: async (wrapEngine = (engine: Engine) => engine) => await db.open({ epochs, wrapEngine }) };
}

/** An engine whose deletions wait: their process was stopped after it had looked whether it may write. */
function stoppedBeforeDeletions() {
  let goOn = () => {};
  const going = new Promise<void>((resolve) => (goOn = resolve));
  let reached = () => {};
  const stopped = new Promise<void>((resolve) => (reached = resolve));
  const wrap = (engine: Engine): Engine => ({
    ...engine,
    async command(statement, options) {
      if (/DELETE /.test(statement.sql)) {
        reached();
        await going;
      }
      await engine.command(statement, options);
    },
  });
  return { wrap, stopped, goOn };
}

const old = { started_at: BigInt(Date.now() - 40 * 86_400_000) * 1000n };

/** What a former writer was about to delete, and what the one after it does before that comes. */
const cases: Record<string, { begin: (store: TraceStore, projectId: string) => Promise<void> }> = {
  "everything of a project that was made again": {
    begin: async (store, projectId) => await store.deleteProject(projectId),
  },
  "calls that a project kept for a shorter time": {
    begin: async (store, projectId) => {
      await store.retention.update(projectId, 3, "ann");
      await store.maintain(true);
    },
  },
  "replaced versions and deleted calls": {
    begin: async (store, projectId) => {
      await store.calls.delete(projectId, ["deleted"], "ann");
      await store.maintain(true);
    },
  },
};

test.each(Object.entries(cases))(
  "a writer that was stopped before it deleted %s deletes nothing after another took over",
  async (_, { begin }) => {
    const { open } = writers();
    const projectId = newProject();
    const zombie = stoppedBeforeDeletions();
    const former = await open(zombie.wrap);
    const call = (id: string) => completePart({ project_id: projectId, id, ...old }, { output: '"kept"' });
    await former.ingest(["first", "deleted"].map(call));
    const late = begin(former, projectId).catch(() => undefined);
    await zombie.stopped;
    const next = await open();
    await next.retention.update(projectId, null, "ann");
    await next.ingest([call("first"), call("second")]);
    const look = async () => ({
      ids: (await visibleCalls(databases.at(-1)!.engine, projectId)).map(({ id }) => id).toSorted(),
      rows: await databases.at(-1)!.engine.rows({ sql: "SELECT id, count() AS n FROM calls GROUP BY id ORDER BY id" }),
      read: (await next.calls.read({ project_id: projectId, id: "second" }))?.output,
      days: await next.retention.read(projectId),
    });
    const before = await look();
    expect(before.ids).toEqual(expect.arrayContaining(["first", "second"]));
    zombie.goOn();
    await late;
    expect(await look()).toEqual(before);
  },
);

test("the one that writes deletes what it is told to", async () => {
  const { db, open } = writers();
  await open();
  const store = await open();
  const [projectId, other] = [newProject(), newProject()];
  const call = (project: string, id: string) => completePart({ project_id: project, id });
  await store.ingest([call(projectId, "a"), call(projectId, "b"), call(other, "c")]);
  await store.calls.delete(projectId, ["a"], "ann");
  await store.maintain(true);
  const ids = async () => await db.engine.rows({ sql: "SELECT id FROM calls ORDER BY id" });
  expect(await ids()).toEqual([{ id: "b" }, { id: "c" }]);
  await store.deleteProject(projectId);
  expect(await ids()).toEqual([{ id: "c" }]);
});
