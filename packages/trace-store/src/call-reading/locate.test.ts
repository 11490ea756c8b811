import { newId } from "@heddle/trace-model";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { listIds } from "../../test/list-calls.js";
import { recordedReads } from "../../test/recorded-reads.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";
import type { CallsQuery } from "../calls/calls.js";

const dayMs = 86_400_000;

describe.each([
  { memory: "has its calls", limits: {}, forgotten: false, statements: 0 },
  { memory: "remembers when its calls started", limits: { newestCallBytes: 0 }, forgotten: false, statements: 1 },
  { memory: "has forgotten them", limits: { knownCallBytes: 0 }, forgotten: true, statements: 1 },
])("a store that $memory", ({ limits, forgotten, statements }) => {
  const db = testDatabase();
  const projectId = newProject();
  const reads = recordedReads();
  let store: TraceStore;
  beforeAll(async () => {
    store = await db.open({ limits, wrapEngine: reads.wrap });
  });
  afterAll(() => db.drop());

  const recentMs = Date.now();
  const oldMs = recentMs - 400 * dayMs;
  const old = newId(oldMs);
  const recent = newId(recentMs);
  /** Started long before its id was made. */
  const imported = newId();
  const running = newId();

  it("finds calls by id, of any age and form", async () => {
    const longAgo = BigInt(oldMs) * 1000n;
    await store.ingest([
      completePart({ project_id: projectId, id: old, started_at: longAgo }),
      completePart({ project_id: projectId, id: recent, started_at: BigInt(recentMs) * 1000n }),
      completePart({ project_id: projectId, id: imported, started_at: longAgo - 100n * BigInt(dayMs) * 1000n }),
      completePart({ project_id: projectId, id: "0123456789abcdef" }),
      startPart({ project_id: projectId, id: running }),
    ]);
    const all = [old, recent, imported, "0123456789abcdef", running];
    for (const id of all) expect(await store.calls.read({ project_id: projectId, id })).toMatchObject({ id });
    const listed = await listIds(store, { project_id: projectId, filter: { call_ids: [...all, newId()] } });
    expect(listed.toSorted()).toEqual(all.toSorted());
    expect(await store.calls.count({ project_id: projectId, filter: { call_ids: all } })).toMatchObject({ count: 5 });
  });

  it("searches further only for calls that do not start when memory or their id says", async () => {
    const byName: CallsQuery["sort_by"] = [{ field: "op_name", direction: "desc" }];
    const lists: Array<[ids: string[], most: number, more?: Partial<CallsQuery>]> = [
      [[recent, old], 1],
      [[recent, old], 1, { limit: 2, sort_by: byName }],
      [[recent, old, imported], forgotten ? 3 : 1],
      // What comes first is known when all are found.
      [[recent, old], forgotten ? 2 : 1, { limit: 1 }],
    ];
    for (const [ids, most, more] of lists) {
      reads.reset();
      const listed = await listIds(store, { project_id: projectId, filter: { call_ids: ids }, ...more });
      expect(listed).toHaveLength(Math.min(ids.length, more?.limit ?? ids.length));
      expect([ids, reads.sent.length]).toEqual([ids, most]);
    }
    reads.reset();
    // This one has to be looked for everywhere, whatever memory knows of the other.
    await listIds(store, { project_id: projectId, filter: { call_ids: [recent, "fedcba9876543210"] } });
    expect(reads.sent.length).toBe(1);
    reads.reset();
    await store.calls.read({ project_id: projectId, id: recent });
    expect(reads.sent.length).toBe(statements);
  });

  it("finds a call that was sent again with another start, and none that was deleted", async () => {
    const again = BigInt(Date.now() - 30 * dayMs) * 1000n;
    await store.ingest([completePart({ project_id: projectId, id: recent, started_at: again })]);
    await store.calls.delete(projectId, [imported], "tester");
    expect(await store.calls.read({ project_id: projectId, id: recent })).toMatchObject({ started_at: again });
    expect(await store.calls.read({ project_id: projectId, id: imported })).toBeUndefined();
    expect(await listIds(store, { project_id: projectId, filter: { call_ids: [recent, imported] } })).toEqual([recent]);
  });
});
