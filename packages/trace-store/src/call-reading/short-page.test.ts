import { afterAll, beforeAll, expect, it } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { listCalls } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
let store: TraceStore;
const projectId = newProject();
const t0 = 1_775_811_600_000_000n;
const megabyte = "x".repeat(1_000_000);
/** No number that the engine can read: stored in `exact`. */
const unsafe = '{"n":123456789012345678901234567890}';

beforeAll(async () => {
  store = await db.open();
  const inputs = [
    "1",
    `{"pad":"${megabyte}${megabyte}"}`,
    unsafe,
    `{"pad":"${megabyte}${megabyte}${megabyte}","n":1e999}`,
  ];
  await store.ingest([
    ...inputs.map((text, n) =>
      completePart({ project_id: projectId, id: `c${n}`, started_at: t0 + BigInt(n), inputs: text }),
    ),
    startPart({ project_id: projectId, id: "r", started_at: t0 + 9n, inputs: `{"pad":"${megabyte}${megabyte}"}` }),
  ]);
});
afterAll(() => db.drop());

it("has the payloads of small and large calls, complete and running, in order and exactly as they were sent", async () => {
  const page = await listCalls(store, {
    project_id: projectId,
    limit: 5,
    sort_by: [{ field: "started_at", direction: "desc" }],
  });
  expect(page.map(({ id, status }) => `${id} ${status}`)).toEqual([
    "r running",
    "c3 success",
    "c2 success",
    "c1 success",
    "c0 success",
  ]);
  expect(page.map(({ inputs }) => inputs.length)).toEqual([2_000_010, 3_000_020, unsafe.length, 2_000_010, 1]);
  expect(page[2]?.inputs).toBe(unsafe);
  expect(page.every(({ storage_size_bytes }) => storage_size_bytes === undefined)).toBe(true);
});

it("reserves memory for what it holds, a few megabytes at a time", async () => {
  const held: number[] = [];
  let [now, most] = [0, 0];
  const reserve = async (bytes: number) => {
    held.push(bytes);
    most = Math.max(most, (now += bytes));
    return () => void (now -= bytes);
  };
  const ids: string[] = [];
  for await (const { id } of store.calls.query({ project_id: projectId, limit: 5 }, { reserve })) ids.push(id);
  expect(ids).toEqual(["c0", "c1", "c2", "c3", "r"]);
  expect(held.length).toBeGreaterThan(1);
  expect(most).toBeLessThan(4 * 1024 * 1024);
  expect(now).toBe(0);
});

it("leaves out hidden calls, few or more than memory lists, before and after compaction and a restart", async () => {
  const project = newProject();
  const ids = Array.from({ length: 260 }, (_, n) => `d${n}`);
  await store.ingest(ids.map((id, n) => completePart({ project_id: project, id, started_at: t0 + BigInt(n) })));
  const seen = async (from: TraceStore) => [
    (await from.calls.count({ project_id: project })).count,
    (await listCalls(from, { project_id: project, limit: 100 })).length,
    (await listCalls(from, { project_id: project })).length,
    (await from.calls.read({ project_id: project, id: "d0" })) === undefined,
  ];
  await store.calls.delete(project, ids.slice(0, 30), "user");
  expect(await seen(store)).toEqual([230, 100, 230, true]);
  await store.calls.delete(project, ids.slice(30, 240), "user");
  expect(await seen(store)).toEqual([20, 20, 20, true]);
  await store.close();
  store = await db.open();
  expect(await seen(store)).toEqual([20, 20, 20, true]);
  await store.maintain(true);
  expect(await seen(store)).toEqual([20, 20, 20, true]);
});
