import { afterAll, beforeAll, expect, it } from "vitest";
import { completePart, endPart, newProject, startPart } from "../../test/call-parts.js";
import { listIds } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
const t0 = 1_775_811_600_000_000n;
let store: TraceStore;

beforeAll(async () => {
  store = await db.open({ limits: { openSideCacheBytes: 0 } });
});
afterAll(() => db.drop());

it("a page of complete and running calls is in the order of a stream, forwards and backwards, from any offset", async () => {
  const projectId = newProject();
  // Many start at once, where the bytes of the ids decide: U+10000 follows U+FFFF.
  const ids = ["a", "B", "\u{10000}", "\u{ffff}", "é", "z"].flatMap((name) => [1, 2, 3].map((n) => `${name}${n}`));
  await store.ingest(
    ids.map((id, n) => {
      const fields = { project_id: projectId, id, started_at: t0 + BigInt((n % 4) * 1_000_000) };
      return n % 3 === 0 ? startPart(fields) : completePart(fields);
    }),
  );
  for (const direction of ["asc", "desc"] as const) {
    const request = { project_id: projectId, sort_by: [{ field: "started_at", direction }] };
    const all = await listIds(store, request);
    expect(all.toSorted()).toEqual(ids.toSorted());
    for (const [limit, offset] of [
      [100, 0],
      [5, 0],
      [7, 4],
      [3, 16],
    ] as const) {
      expect(await listIds(store, { ...request, limit, offset })).toEqual(all.slice(offset, offset + limit));
    }
  }
});

it("pages during a stream of ends never miss a call", async () => {
  const projectId = newProject();
  const ids = Array.from({ length: 40 }, (_, n) => `c${n}`);
  await store.ingest(ids.map((id) => startPart({ project_id: projectId, id })));
  const ends = { left: ids.length };
  const writing = (async () => {
    for (const id of ids) {
      await store.ingest([endPart({ project_id: projectId, id })]);
      ends.left--;
    }
  })();
  while (ends.left > 0) {
    const found = await listIds(store, { project_id: projectId, limit: 100 });
    expect(found.toSorted()).toEqual(ids.toSorted());
  }
  await writing;
});
