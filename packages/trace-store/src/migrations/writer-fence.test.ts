import { afterAll, expect, test } from "vitest";
import { completePart, newProject, startPart, visibleCalls } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import type { TestDatabase } from "../../test/store.js";
import type { Engine } from "../engine/engine.js";
import { fenceStatement } from "./writer-fence.js";
import type { WriterEpochs } from "./writer-fence.js";

const databases: TestDatabase[] = [];
afterAll(async () => {
  for (const one of databases) await one.drop();
}, 120_000);

/** A database, and who gives out numbers for it. */
function fresh() {
  const db = testDatabase();
  databases.push(db);
  const noted = { given: 0n, stored: 0n, seen: 0n };
  const epochs: WriterEpochs = {
    next: async (seen) => {
      noted.seen = seen;
      return (noted.given += 1n);
    },
    onStored: async (epoch) => void (noted.stored = epoch),
  };
  return { db, epochs, noted };
}

/** An engine that a process was stopped in front of: what it sends to some tables waits until `goOn`. */
function stoppedAt({ table: stoppedIn, after }: { table: string; after: boolean }) {
  let goOn = () => {};
  const going = new Promise<void>((resolve) => (goOn = resolve));
  let reached = () => {};
  const stopped = new Promise<void>((resolve) => (reached = resolve));
  const self = { isArmed: false, stopped, goOn };
  const wrap = (engine: Engine): Engine => ({
    ...engine,
    async insert(table, columns, rows) {
      const stops = self.isArmed && table === stoppedIn;
      if (stops && after) await engine.insert(table, columns, rows);
      if (stops) {
        reached();
        await going;
      }
      if (!stops || !after) await engine.insert(table, columns, rows);
    },
  });
  return { ...self, wrap, arm: () => (self.isArmed = true) };
}

const moments = [
  ["before its rows are sent", { table: "calls", after: false }],
  ["when its rows are stored, and it does not know it", { table: "calls", after: true }],
  ["between complete rows and the closing of their starts", { table: "call_parts", after: false }],
  ["when the starts are closed, and it does not know it", { table: "call_parts", after: true }],
] as const;

test.each(moments)(
  "a writer that was stopped %s, and goes on after another took over, changes nothing",
  async (_, at) => {
    const { db, epochs } = fresh();
    const projectId = newProject();
    const zombie = stoppedAt(at);
    // It believes that it may write: its check was before the stop.
    const former = await db.open({ epochs, wrapEngine: zombie.wrap });
    await former.ingest([startPart({ project_id: projectId, id: "running" })]);
    zombie.arm();
    const late = former.ingest([
      completePart({ project_id: projectId, id: "running" }, { output: '"late"' }),
      completePart({ project_id: projectId, id: "new" }, { output: '"late"' }),
    ]);
    late.catch(() => undefined);
    await zombie.stopped;
    const next = await db.open({ epochs });
    await next.ingest([completePart({ project_id: projectId, id: "running" }, { output: '"newer"' })]);
    const look = async () => ({
      rows: (await visibleCalls(db.engine, projectId)).map(({ id, output }) => `${id} ${output}`).toSorted(),
      count: (await next.calls.count({ project_id: projectId })).count,
      read: (await next.calls.read({ project_id: projectId, id: "running" }))?.output,
      open: await db.engine.rows({ sql: "SELECT count() AS n FROM call_parts FINAL WHERE closed = 0" }),
    });
    const before = await look();
    expect(before.read).toBe('"newer"');
    zombie.goOn();
    // Who has nothing left to send is not refused: what it acknowledges was stored before.
    if (at.table === "calls" || !at.after) await expect(late).rejects.toMatchObject({ code: "busy" });
    else await late.catch(() => undefined);
    expect(await look()).toEqual(before);
    await next.maintain(true);
    expect(await look()).toEqual(before);
  },
);

test("every table refuses the rows of a former writer, and takes those of the one that writes", async () => {
  const { db, epochs } = fresh();
  const fenced: number[] = [];
  const former = await db.open({ epochs, onFenced: (rows) => fenced.push(rows) });
  const next = await db.open({ epochs, onFenced: (rows) => fenced.push(-rows) });
  const projectId = newProject();
  const writes = (store: typeof former) => [
    async () => await store.ingest([completePart({ project_id: projectId, id: "a" })]),
    async () => await store.ingest([startPart({ project_id: projectId, id: "b" })]),
    async () => await store.calls.rename(projectId, "a", "name"),
    async () => await store.calls.delete(projectId, ["a"], "ann"),
    async () => await store.objects.create({ project_id: projectId, object_id: "o", val: "1" }),
    async () => await store.tables.create({ project_id: projectId, rows: ["{}"] }),
    async () => await store.retention.update(projectId, 3, "ann"),
  ];
  await next.ingest([completePart({ project_id: projectId, id: "a" })]);
  for (const write of writes(former)) await expect(write()).rejects.toMatchObject({ code: "busy" });
  expect(fenced).toEqual(expect.arrayContaining([1]));
  for (const write of writes(next)) await write();
  expect(fenced.every((rows) => rows > 0)).toBe(true);
});

test("a program that gives no numbers may write next to one that does, as during an update that is taken back", async () => {
  const { db, epochs } = fresh();
  await (await db.open({ epochs })).close();
  const older = await db.open();
  const projectId = newProject();
  await older.ingest([completePart({ project_id: projectId, id: "a" })]);
  expect(await visibleCalls(db.engine, projectId)).toHaveLength(1);
});

test("the number of the last writer is stored in the database, and told to the next", async () => {
  const { db, epochs, noted } = fresh();
  const first = await db.open({ epochs });
  expect(noted).toEqual({ given: 1n, stored: 1n, seen: 0n });
  await first.ingest([completePart({ project_id: newProject() })]);
  await first.close();
  // One more when it ends, since it has written.
  expect(noted).toEqual({ given: 2n, stored: 2n, seen: 1n });
  await (await db.open({ epochs })).close();
  expect(noted).toEqual({ given: 3n, stored: 3n, seen: 2n });
});

test("on a cluster the servers give each other the constraint", () => {
  const sql = fenceStatement("calls", { database: "d", cluster: "c" }, { writer: "heddle-0-", epoch: 7n });
  expect(sql).toBe(
    "ALTER TABLE d.calls DROP CONSTRAINT IF EXISTS writer, ADD CONSTRAINT writer CHECK " +
      "toUInt64OrZero(extract(getSetting('log_comment'), 'heddle-0-epoch-([0-9]+)-')) = 0 OR " +
      "toUInt64OrZero(extract(getSetting('log_comment'), 'heddle-0-epoch-([0-9]+)-')) >= 7",
  );
});
