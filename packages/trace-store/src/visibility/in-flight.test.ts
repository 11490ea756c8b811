import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "@heddle/trace-model";
import { completePart, endPart, newProject, startPart } from "../../test/call-parts.js";
import { listIds } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
let store: TraceStore;
/** Called before and after every write of the store. */
let look: (() => Promise<void>) | undefined;
beforeAll(async () => {
  store = await db.open({
    wrapEngine: (engine) => ({
      ...engine,
      insert: async (table, columns, rows) => {
        await look?.();
        await engine.insert(table, columns, rows);
        await look?.();
      },
      command: async (statement, options) => {
        await look?.();
        await engine.command(statement, options);
        await look?.();
      },
    }),
  });
});
afterAll(() => db.drop());

/** What lists and counts return at each step of a write. */
async function seenDuring(projectId: string, write: () => Promise<unknown>): Promise<string[]> {
  const seen = new Set<string>();
  look = async () => {
    const { count } = await store.calls.count({ project_id: projectId });
    seen.add(`${count} counted, ${(await listIds(store, { project_id: projectId })).length} listed`);
  };
  try {
    await write();
    await look();
  } finally {
    look = undefined;
  }
  return [...seen];
}

test("a running call that ends is there once at every moment of the write", async () => {
  const projectId = newProject();
  const id = newId();
  await store.ingest([startPart({ project_id: projectId, id }), completePart({ project_id: projectId })]);
  const seen = await seenDuring(projectId, () => store.ingest([endPart({ project_id: projectId, id })]));
  expect(seen).toEqual(["2 counted, 2 listed"]);
});

test("a call that is replaced is there once at every moment of the write, also when its start moves", async () => {
  const projectId = newProject();
  const call = completePart({ project_id: projectId });
  if (call.part !== "complete") throw new Error("not complete");
  await store.ingest([call, completePart({ project_id: projectId })]);
  const moved = { ...call.start, started_at: call.start.started_at - 9n };
  const seen = await seenDuring(projectId, async () => {
    await store.ingest([endPart({ project_id: projectId, id: call.start.id, output: '"newer"' })]);
    await store.ingest([{ ...call, start: moved }]);
  });
  expect(seen).toEqual(["2 counted, 2 listed"]);
});

test("compaction takes nothing away from readers and gives nothing back", async () => {
  const projectId = newProject();
  const [replaced, deleted] = [newId(), newId()];
  await store.ingest([
    completePart({ project_id: projectId, id: replaced }),
    startPart({ project_id: projectId, id: deleted }),
  ]);
  await store.ingest([endPart({ project_id: projectId, id: replaced, output: '"newer"' })]);
  await store.calls.delete(projectId, [deleted], "user");
  const seen = await seenDuring(projectId, () => store.maintain(true));
  expect(seen).toEqual(["1 counted, 1 listed"]);
});
