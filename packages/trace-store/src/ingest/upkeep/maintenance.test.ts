import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "@heddle/trace-model";
import { completePart, endPart, newProject, startPart } from "../../../test/call-parts.js";
import { listIds } from "../../../test/list-calls.js";
import { testDatabase } from "../../../test/store.js";
import type { Engine, StatementOptions, StatementSource } from "../../engine/engine.js";
import type { TraceStore } from "../../store.js";

const db = testDatabase();
afterAll(() => db.drop());

const gates: Array<{ at: RegExp; reached: () => void; open: Promise<void> }> = [];

/** Holds back the next statement that matches, until it is released or the store aborts it. */
function holdAt(at: RegExp): { reached: Promise<void>; release: () => void } {
  let release = () => {};
  let arrived = () => {};
  const reached = new Promise<void>((resolve) => (arrived = resolve));
  const open = new Promise<void>((resolve) => (release = resolve));
  gates.push({ at, reached: arrived, open });
  return { reached, release };
}

async function pass(source: StatementSource, options?: StatementOptions): Promise<void> {
  const { sql } = typeof source === "function" ? source() : source;
  const index = gates.findIndex(({ at }) => at.test(sql));
  const [gate] = index < 0 ? [] : gates.splice(index, 1);
  if (gate === undefined) return;
  const { reached, open } = gate;
  reached();
  const { signal } = options ?? {};
  await (signal === undefined ? open : Promise.race([open, once(signal, "abort")]));
  signal?.throwIfAborted();
}

const wrapEngine = (engine: Engine): Engine => ({
  ...engine,
  rows: async (source, options) => {
    await pass(source, options);
    return await engine.rows(source, options);
  },
  command: async (statement, options) => {
    await pass(statement, options);
    await engine.command(statement, options);
  },
});

let store: TraceStore;
beforeAll(async () => {
  store = await db.open({ wrapEngine });
});

const visibleIds = async (projectId: string) => (await listIds(store, { project_id: projectId })).toSorted();

test("writes do not wait while the store looks for inconsistencies, compacts and cleans up", async () => {
  const [projectId, id] = [newProject(), newId()];
  await store.ingest([completePart({ project_id: projectId, id }), startPart({ project_id: projectId })]);
  await store.ingest([endPart({ project_id: projectId, id, output: '"newer"' })]);
  const held = [/groupUniqArray/, /^DELETE FROM calls/, /^INSERT INTO call_hidden/, /^OPTIMIZE TABLE call_parts/].map(
    holdAt,
  );
  const maintained = store.maintain(true);
  for (const { reached, release } of held) {
    await reached;
    await store.ingest([completePart({ project_id: projectId })]);
    release();
  }
  await maintained;
  expect(await visibleIds(projectId)).toHaveLength(6);
});

test("what is replaced or deleted while the store compacts is neither doubled nor back afterwards", async () => {
  const [projectId, other] = [newProject(), newProject()];
  const [early, replaced, gone, kept, deleted] = [newId(), newId(), newId(), newId(), newId()];
  await store.ingest([
    ...[early, replaced, gone].map((id) => completePart({ project_id: projectId, id })),
    ...[kept, deleted].map((id) => completePart({ project_id: other, id })),
  ]);
  await store.ingest([endPart({ project_id: projectId, id: early, output: '"newer"' })]);
  await store.calls.delete(projectId, [gone], "user");
  // The last of its deletions: those from the calls are done.
  const { reached, release } = holdAt(/^DELETE FROM call_names/);
  const maintained = store.maintain(true);
  await reached;
  await store.ingest([
    endPart({ project_id: projectId, id: replaced, output: '"newer"' }),
    endPart({ project_id: other, id: kept, output: '"newer"' }),
  ]);
  await store.calls.delete(other, [deleted], "user");
  release();
  await maintained;
  for (let times = 0; times < 2; times++) {
    expect(await visibleIds(projectId)).toEqual([early, replaced].toSorted());
    expect(await visibleIds(other)).toEqual([kept]);
    await store.maintain(true);
  }
});

test("what changes while the store looks for inconsistencies is what stays", async () => {
  const projectId = newProject();
  const [id, running] = [newId(), newId()];
  await store.ingest([completePart({ project_id: projectId, id }), startPart({ project_id: projectId, id: running })]);
  const { reached, release } = holdAt(/^SELECT intDiv\(version/);
  const maintained = store.maintain();
  await reached;
  await store.ingest([
    endPart({ project_id: projectId, id, output: '"newer"' }),
    endPart({ project_id: projectId, id: running }),
  ]);
  release();
  await maintained;
  await store.ingest([endPart({ project_id: projectId, id, output: '"newest"' })]);
  expect(await visibleIds(projectId)).toEqual([id, running].toSorted());
});

test("a store that closes does not wait for a compaction to end", async () => {
  const closing = await db.open({ wrapEngine });
  const { reached } = holdAt(/^OPTIMIZE TABLE call_parts/);
  const maintained = closing.maintain(true);
  await reached;
  await Promise.all([expect(maintained).rejects.toMatchObject({ code: "busy" }), closing.close()]);
});
