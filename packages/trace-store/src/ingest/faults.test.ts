import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "@heddle/trace-model";
import {
  callStart,
  completePart,
  endPart,
  newProject,
  nowUs,
  openSides,
  startPart,
  visibleCalls,
} from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import { unreliableEngine } from "../../test/unreliable-engine.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
const engine = unreliableEngine();
let store: TraceStore;
beforeAll(async () => {
  store = await db.open({ wrapEngine: engine.wrap });
});
afterAll(() => db.drop());

const busy = { code: "busy" };
const hour = 3_600_000_000n;

describe("a connection that breaks while calls are written", () => {
  test("after the rows were stored: sending again leaves one call each", async () => {
    const projectId = newProject();
    const batch = [
      completePart({ project_id: projectId }),
      completePart({ project_id: projectId, started_at: nowUs() - 48n * hour }),
    ];
    engine.breakNext("calls", true);
    await expect(store.ingest(batch)).rejects.toMatchObject(busy);
    await store.ingest(batch);
    expect(await visibleCalls(db.engine, projectId)).toHaveLength(2);
    expect(await db.engine.rows({ sql: `SELECT id FROM calls WHERE project_id = '${projectId}'` })).toHaveLength(2);
  });

  test("before the rows were stored: sending again stores them", async () => {
    const projectId = newProject();
    const batch = [completePart({ project_id: projectId }), startPart({ project_id: projectId })];
    engine.breakNext("calls", false);
    await expect(store.ingest(batch)).rejects.toMatchObject(busy);
    expect(await visibleCalls(db.engine, projectId)).toEqual([]);
    await store.ingest(batch);
    expect(await visibleCalls(db.engine, projectId)).toHaveLength(2);
  });

  test("between the complete row and the closing of its start: the next write of any project repairs it", async () => {
    const projectId = newProject();
    const id = newId();
    await store.ingest([startPart({ project_id: projectId, id })]);
    engine.breakNext("call_parts", false);
    await expect(store.ingest([endPart({ project_id: projectId, id })])).rejects.toMatchObject(busy);
    expect(await visibleCalls(db.engine, projectId)).toHaveLength(2);
    await store.ingest([startPart({ project_id: newProject() })]);
    expect(await visibleCalls(db.engine, projectId)).toMatchObject([{ id, running: 0 }]);
    expect(await openSides(db.engine, projectId)).toEqual([]);
  });

  test("between a new version and the hiding of the old one: the next write repairs it", async () => {
    const projectId = newProject();
    const call = completePart({ project_id: projectId });
    if (call.part !== "complete") throw new Error("not complete");
    await store.ingest([call]);
    engine.breakNext("call_hidden", false);
    const moved = { ...call.start, started_at: call.start.started_at + 5n, op_name: "newer" };
    await expect(store.ingest([{ ...call, start: moved }])).rejects.toMatchObject(busy);
    expect(await visibleCalls(db.engine, projectId)).toHaveLength(2);
    await store.ingest([{ ...call, start: moved }]);
    expect(await visibleCalls(db.engine, projectId)).toMatchObject([{ op_name: "newer" }]);
  });

  test("while open sides are written: those that were stored meet their other side", async () => {
    const projectId = newProject();
    const [id, early] = [newId(), newId()];
    engine.breakNext("call_parts", true);
    await expect(
      store.ingest([startPart({ project_id: projectId, id }), endPart({ project_id: projectId, id: early })]),
    ).rejects.toMatchObject(busy);
    await store.ingest([endPart({ project_id: projectId, id }), startPart({ project_id: projectId, id: early })]);
    const calls = await visibleCalls(db.engine, projectId);
    expect(calls.map(({ running }) => running)).toEqual([0, 0]);
    expect(await openSides(db.engine, projectId)).toEqual([]);
  });

  test("while a call is deleted: it stays deleted, and late parts stay out", async () => {
    const projectId = newProject();
    const id = newId();
    await store.ingest([startPart({ project_id: projectId, id })]);
    engine.breakNext("call_parts", false);
    await expect(store.calls.delete(projectId, [id], "user")).rejects.toMatchObject(busy);
    await store.ingest([endPart({ project_id: projectId, id })]);
    expect(await visibleCalls(db.engine, projectId)).toEqual([]);
    expect(await openSides(db.engine, projectId)).toEqual([]);
  });
});

test("while the engine is down writes are rejected immediately, and work again by themselves when it is back", async () => {
  const projectId = newProject();
  engine.down = true;
  store.engineRestarted();
  for (let times = 0; times < 3; times++) {
    await expect(store.ingest([completePart({ project_id: projectId })])).rejects.toMatchObject(busy);
  }
  engine.down = false;
  await store.ingest([completePart({ project_id: projectId })]);
  expect(await visibleCalls(db.engine, projectId)).toHaveLength(1);
});

describe("a row that the engine cannot take", () => {
  const refusedStep = 666;
  beforeAll(async () => {
    for (const table of ["calls", "call_parts"]) {
      const check = `NOT has([run_step, run_step_end], ${refusedStep})`;
      await db.engine.command({ sql: `ALTER TABLE ${table} ADD CONSTRAINT poison CHECK ${check}` });
    }
  });

  test("is refused alone: its neighbours in the batch and in other requests are kept", async () => {
    const projectId = newProject();
    const good = Array.from({ length: 20 }, () => completePart({ project_id: projectId }));
    const poisoned = completePart({ project_id: projectId, wb_run_step: refusedStep });
    const [mixed, other] = await Promise.all([
      store.ingest([...good.slice(0, 5), poisoned, ...good.slice(5)]),
      store.ingest([completePart({ project_id: projectId })]),
    ]);
    expect(mixed).toMatchObject([{ index: 5 }]);
    expect(other).toEqual([]);
    expect(await visibleCalls(db.engine, projectId)).toHaveLength(21);
    await store.ingest(good);
    expect(await visibleCalls(db.engine, projectId)).toHaveLength(21);
  });

  test("is refused alone among open sides, and the side it would have replaced stays as it was", async () => {
    const projectId = newProject();
    const running = callStart({ project_id: projectId });
    await store.ingest([{ part: "start", start: running }]);
    const rejected = await store.ingest([
      startPart({ project_id: projectId, wb_run_step: refusedStep }),
      startPart({ project_id: projectId }),
      endPart({ project_id: projectId, id: running.id, wb_run_step_end: refusedStep }),
    ]);
    expect(rejected.map(({ index }) => index)).toEqual([0, 2]);
    const calls = await visibleCalls(db.engine, projectId);
    expect(calls.map((call) => call.running)).toEqual([1, 1]);
    await store.ingest([endPart({ project_id: projectId, id: running.id })]);
    expect((await visibleCalls(db.engine, projectId)).filter((call) => call.running === 0)).toHaveLength(1);
  });

  test("does not repeat rows of the batch that were already stored", async () => {
    const projectId = newProject();
    const partly = await db.open({
      wrapEngine: (plain) => {
        let first = true;
        return {
          ...plain,
          // As an insert of two blocks, the second of which holds the bad row.
          insert: async (table, columns, rows) => {
            if (table === "calls" && first) {
              first = false;
              await plain.insert(table, columns, rows.slice(0, 2));
            }
            await plain.insert(table, columns, rows);
          },
        };
      },
    });
    const parts = [1, 2, 3, refusedStep].map((wbRunStep) =>
      completePart({ project_id: projectId, wb_run_step: wbRunStep }),
    );
    expect(await partly.ingest(parts)).toMatchObject([{ index: 3 }]);
    expect(await db.engine.rows({ sql: `SELECT id FROM calls WHERE project_id = '${projectId}'` })).toHaveLength(3);
  });
});
