import { testConnection } from "@heddle/embedded-clickhouse/testing";
import { afterAll, expect, test } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { listCalls } from "../../test/list-calls.js";
import { testControlPlane, testDatabase } from "../../test/store.js";
import { copyProject, deleteCopy } from "./move-project.js";

const [first, second] = [testDatabase(), testDatabase()];
afterAll(async () => {
  await first.drop();
  await second.drop();
});
const idle = ({ name }: typeof first) => ({
  client: testConnection(),
  database: name,
  controlPlaneId: testControlPlane,
});

test(
  "a project that is moved has everything in the other database, and goes on there",
  { timeout: 90_000 },
  async () => {
    const projectId = newProject();
    const neighbour = newProject();
    const store = await first.open();
    const parts = ["a", "b", "c"].map((id) => completePart({ project_id: projectId, id }));
    await store.ingest([...parts, startPart({ project_id: projectId, id: "running" })]);
    await store.ingest([completePart({ project_id: neighbour, id: "stays" })]);
    await store.calls.delete(projectId, ["c"], "ann");
    await store.calls.rename(projectId, "a", "tab\tline\nand 'quotes' \\ of a name");
    const val = '{"a": 1.0, "big": 123456789012345678901234567890, "text": "tab\\t\\u0000"}';
    await store.objects.create({ project_id: projectId, object_id: "config", val });
    const { digest } = await store.tables.create({ project_id: projectId, rows: [`{"x": 1.50}`, `{"x": 2}`] });
    await store.retention.update(projectId, 30, "ann");
    const seen = async (from: typeof store) => ({
      calls: await listCalls(from, { project_id: projectId }),
      object: await from.objects.read({ project_id: projectId, object_id: "config", digest: "latest" }),
      tables: await from.tables.stats({ project_id: projectId, digests: [digest] }),
      retention: await from.retention.read(projectId),
    });
    const before = await seen(store);
    expect(before.calls).toHaveLength(3);
    await store.close();

    // An attempt that was cut off has left rows there.
    await (await second.open()).ingest([completePart({ project_id: projectId, id: "of-an-attempt" })]);
    const moved = await copyProject(projectId, idle(first), idle(second));
    expect(moved.map(({ table }) => table)).toEqual(expect.arrayContaining(["calls", "call_parts", "objects"]));
    await deleteCopy(projectId, idle(first));

    const other = await second.open();
    expect(await seen(other)).toEqual(before);
    await other.ingest([completePart({ project_id: projectId, id: "running" }), ...parts.slice(0, 1)]);
    expect((await listCalls(other, { project_id: projectId })).map(({ id }) => id).toSorted()).toEqual([
      "a",
      "b",
      "running",
    ]);
    const left = await first.open();
    expect(await listCalls(left, { project_id: projectId })).toEqual([]);
    expect(await listCalls(left, { project_id: neighbour })).toHaveLength(1);
  },
);
