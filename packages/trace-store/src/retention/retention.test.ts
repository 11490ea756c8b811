import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "@heddle/trace-model";
import { completePart, endPart, newProject, nowUs, startPart } from "../../test/call-parts.js";
import { listIds } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

describe.each([
  { memory: "usual", limits: {} },
  { memory: "little", limits: { retentionBytes: 300 } },
])("a store that has $memory memory of settings", ({ limits }) => {
  const db = testDatabase();
  /** The clock of the store, which tests move. */
  let now = nowUs();
  let store: TraceStore;
  beforeAll(async () => {
    store = await db.open({ now: () => now, limits });
  });
  afterAll(() => db.drop());

  const hourUs = 3_600_000_000n;
  const dayUs = 24n * hourUs;

  const visibleIds = async (projectId: string) => (await listIds(store, { project_id: projectId })).toSorted();

  async function rowsOf(projectId: string, table: "calls" | "call_parts" | "call_names"): Promise<string[]> {
    const rows = await db.engine.rows<{ id: string }>({
      sql: `SELECT DISTINCT id FROM ${table} FINAL WHERE project_id = '${projectId}' ORDER BY id`,
    });
    return rows.map(({ id }) => id);
  }

  /** A call of each age, in days: finished ones under positive numbers, running ones under negative. */
  async function calls(projectId: string, ages: readonly number[]): Promise<string[]> {
    const ids = ages.map(() => newId());
    const parts = ages.map((days, index) => {
      const fields = { project_id: projectId, id: ids[index], started_at: now - BigInt(Math.abs(days * 24)) * hourUs };
      return days < 0 ? startPart(fields) : completePart(fields);
    });
    expect(await store.ingest(parts)).toEqual([]);
    return ids;
  }

  test("a project keeps its calls indefinitely until it has a setting", async () => {
    const projectId = newProject();
    const ids = await calls(projectId, [1, 20_000, -20_000]);
    expect(await store.retention.read(projectId)).toBeNull();
    await store.maintain(true);
    expect(await visibleIds(projectId)).toEqual(ids.toSorted());
    expect(await store.calls.read({ project_id: projectId, id: ids[0] ?? "" })).toMatchObject({ expire_at: null });
  });

  test("older calls, finished or running, are hidden at once, and a day later at most they are gone with their names", async () => {
    const [projectId, other] = [newProject(), newProject()];
    const [young = "", old = "", running = "", waiting = ""] = await calls(projectId, [20, 30.5, -30.5, -20]);
    const [elsewhere] = await calls(other, [31]);
    for (const id of [young, old, running]) await store.calls.rename(projectId, id, `name of ${id}`);
    await store.retention.update(projectId, 30, "alice");

    expect(await store.retention.read(projectId)).toBe(30);
    expect(await visibleIds(projectId)).toEqual([young, waiting].toSorted());
    expect(await store.calls.read({ project_id: projectId, id: old })).toBeUndefined();
    expect(await store.calls.count({ project_id: projectId })).toMatchObject({ count: 2 });
    expect(await rowsOf(projectId, "calls")).toContain(old);

    await store.maintain();
    expect(await rowsOf(projectId, "calls")).toContain(old);
    now += dayUs;
    await store.maintain();
    expect(await rowsOf(projectId, "calls")).toEqual([young]);
    expect(await rowsOf(projectId, "call_names")).toEqual([young]);
    expect(await rowsOf(projectId, "call_parts")).toEqual([waiting]);
    expect(await visibleIds(other)).toEqual([elsewhere]);
  });

  test("feedback on a call goes with it, and other feedback stays", async () => {
    const projectId = newProject();
    const [young = "", old = ""] = await calls(projectId, [20, 31]);
    const paths = [`call/${young}`, `call/${old}`, "object/answers:1"];
    for (const path of paths) {
      await store.feedback.create({
        project_id: projectId,
        weave_ref: `weave:///${projectId}/${path}`,
        feedback_type: "quality",
        payload: "{}",
        wb_user_id: "ann",
      });
    }
    await store.retention.update(projectId, 30, "alice");
    await store.maintain(true);
    const { result } = await store.feedback.query({ project_id: projectId });
    expect(result).toHaveLength(2);
    expect(result.join("\n")).not.toContain(old);
  });

  test("a call shows when it expires, and calls that come later expire, too", async () => {
    const projectId = newProject();
    await store.retention.update(projectId, 7, "alice");
    const [id = "", late = ""] = await calls(projectId, [6, 8]);
    const call = await store.calls.read({ project_id: projectId, id });
    expect(call?.expire_at).toBe(now + dayUs);
    expect(await visibleIds(projectId)).toEqual([id]);
    now += dayUs;
    expect(await visibleIds(projectId)).toEqual([]);
    await store.maintain(true);
    expect(await rowsOf(projectId, "calls")).toEqual([]);
    // An end that comes after all that brings nothing back.
    expect(await store.ingest([endPart({ project_id: projectId, id: late })])).toEqual([]);
    expect(await visibleIds(projectId)).toEqual([]);
  });

  test("a longer retention, or none, keeps what has not expired and brings nothing back", async () => {
    const projectId = newProject();
    const [a = "", b = "", c = ""] = await calls(projectId, [5, 15, 25]);
    await store.retention.update(projectId, 20, "alice");
    await store.retention.update(projectId, 30, "alice");
    expect(await visibleIds(projectId)).toEqual([a, b].toSorted());
    expect(await rowsOf(projectId, "calls")).not.toContain(c);
    expect((await store.calls.read({ project_id: projectId, id: b }))?.expire_at).toBe(now + 15n * dayUs);
    await store.retention.update(projectId, 10, "alice");
    expect(await visibleIds(projectId)).toEqual([a]);
    await store.retention.update(projectId, null, "alice");
    expect(await store.retention.read(projectId)).toBeNull();
    expect(await visibleIds(projectId)).toEqual([a]);
    expect(await rowsOf(projectId, "calls")).toEqual([a]);
    // What is recorded without a setting stays, however old it is.
    const [ancient = ""] = await calls(projectId, [25]);
    await store.maintain(true);
    expect(await visibleIds(projectId)).toEqual([a, ancient].toSorted());
  });

  test("a call that was recorded again with a later start keeps its name", async () => {
    const [projectId, id] = [newProject(), newId()];
    await store.ingest([completePart({ project_id: projectId, id, started_at: now - 50n * dayUs })]);
    await store.ingest([completePart({ project_id: projectId, id, started_at: now - dayUs })]);
    await store.calls.rename(projectId, id, "kept");
    await store.retention.update(projectId, 30, "alice");
    await store.maintain(true);
    expect(await store.calls.read({ project_id: projectId, id })).toMatchObject({ id, display_name: "kept" });
  });

  test("a project without a setting shows calls of any age", async () => {
    const projectId = newProject();
    const beginning = -2_208_988_800_000_000n;
    const parts = [beginning, beginning + 1n, 0n].map((startedAt) =>
      completePart({ project_id: projectId, id: newId(), started_at: startedAt }),
    );
    expect(await store.ingest(parts)).toEqual([]);
    expect(await visibleIds(projectId)).toHaveLength(3);
  });

  test("the setting outlives the service", async () => {
    const projectId = newProject();
    const [young, old = ""] = await calls(projectId, [1, 3]);
    await store.retention.update(projectId, 2, "alice");
    await store.close();
    store = await db.open({ now: () => now, limits });
    expect(await store.retention.read(projectId)).toBe(2);
    expect(await visibleIds(projectId)).toEqual([young]);
    await store.maintain(true);
    expect(await rowsOf(projectId, "calls")).not.toContain(old);
  });

  test("projects beyond the limit of memory keep their calls no longer than others", async () => {
    const projects = Array.from({ length: 4 }, newProject);
    for (const projectId of projects) await store.retention.update(projectId, 3, "alice");
    const known: string[] = [];
    for (const projectId of projects) {
      const [young = "", old = ""] = await calls(projectId, [2, 4]);
      known.push(young);
      expect(await visibleIds(projectId)).toEqual([young]);
      expect(await store.calls.read({ project_id: projectId, id: old })).toBeUndefined();
    }
    await store.maintain(true);
    for (const [at, projectId] of projects.entries()) expect(await rowsOf(projectId, "calls")).toEqual([known[at]]);
    expect(store.load().memory.retention).toBeLessThanOrEqual(limits.retentionBytes ?? 4_000_000);
    expect(store.load().memory.retention).toBeGreaterThan(0);
  });
});
