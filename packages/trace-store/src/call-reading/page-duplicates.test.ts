import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { listIds } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import { Parameters } from "../engine/parameters.js";
import type { TraceStore } from "../store.js";

const t0 = 1_775_811_600_000_000n;

describe.each([
  { running: "from memory", openSideCacheBytes: 1_000_000 },
  { running: "from their table", openSideCacheBytes: 0 },
])("pages with running calls $running", ({ openSideCacheBytes }) => {
  const db = testDatabase();
  let store: TraceStore;
  beforeAll(async () => {
    store = await db.open({ limits: { openSideCacheBytes } });
  });
  afterAll(() => db.drop());

  const expectPages = async (projectId: string, ids: readonly string[]) => {
    for (const direction of ["asc", "desc"] as const) {
      const request = { project_id: projectId, sort_by: [{ field: "started_at", direction }] };
      const expected = direction === "asc" ? ids : ids.toReversed();
      for (const [offset, limit] of [
        [0, 3],
        [0, 12],
        [5, 20],
        [ids.length - 2, 10],
      ] as const) {
        expect(await listIds(store, { ...request, offset, limit })).toEqual(expected.slice(offset, offset + limit));
      }
    }
  };

  /** Every third call runs, so that calls of both tables alternate. */
  const fill = async (projectId: string) => {
    const ids = Array.from({ length: 60 }, (_, n) => `c${String(n).padStart(2, "0")}`);
    await store.ingest(
      ids.map((id, n) => {
        const call = { project_id: projectId, id, started_at: t0 + BigInt(n) };
        return n % 3 === 0 ? startPart(call) : completePart(call);
      }),
    );
    return ids;
  };

  it("are whole and in order when a crash left calls with several versions that nothing hides", async () => {
    const projectId = newProject();
    const ids = await fill(projectId);
    await db.engine.command({ sql: "SYSTEM STOP MERGES calls" });
    for (const version of [1, 2, 3]) {
      const sql = `INSERT INTO calls SELECT * REPLACE (toUInt64(${version}) AS version) FROM calls
        WHERE project_id = {project:String} AND calls.version > 10`;
      const params = new Parameters();
      await db.engine.command({ sql: sql.replace("{project:String}", params.bind("String", projectId)), params });
    }
    await expectPages(projectId, ids);
    await db.engine.command({ sql: "SYSTEM START MERGES calls" });
  });

  it("are whole and in order when many calls were replaced or deleted a moment ago", async () => {
    const projectId = newProject();
    const ids = await fill(projectId);
    for (const output of ["1", "2", "3"]) {
      const again = ids.flatMap((id, n) =>
        n % 3 === 1 ? [completePart({ project_id: projectId, id, started_at: t0 + BigInt(n) }, { output })] : [],
      );
      await store.ingest(again);
    }
    const deleted = ids.filter((_, n) => n % 4 === 0);
    await store.calls.delete(projectId, deleted, "user");
    await expectPages(
      projectId,
      ids.filter((id) => !deleted.includes(id)),
    );
  });
});
