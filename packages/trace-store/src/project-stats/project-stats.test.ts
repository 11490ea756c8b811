import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "@heddle/trace-model";
import { completePart, newProject, nowUs, startPart } from "../../test/call-parts.js";
import { recordedReads } from "../../test/recorded-reads.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
const reads = recordedReads();
let store: TraceStore;
beforeAll(async () => {
  store = await db.open({ wrapEngine: reads.wrap });
});
afterAll(() => db.drop());

async function filledProject(): Promise<string> {
  const projectId = newProject();
  const gone = newId();
  await store.ingest([
    completePart({ project_id: projectId, inputs: '{"q":"é"}' }, { output: "1", summary: "{}" }),
    completePart({ project_id: projectId, id: gone }),
    startPart({ project_id: projectId, inputs: '{"a":[1]}' }),
  ]);
  await store.calls.delete(projectId, [gone], "alice");
  await store.objects.create({ project_id: projectId, object_id: "o", val: '{"v":1}' });
  await store.objects.create({ project_id: projectId, object_id: "o", val: '{"v":20}' });
  await store.objects.create({ project_id: projectId, object_id: "gone", val: '{"v":300}' });
  await store.objects.delete({ project_id: projectId, object_id: "gone" });
  await store.tables.create({ project_id: projectId, rows: ['{"r":1}', '{"r":2}'] });
  await store.tables.create({ project_id: projectId, rows: ['{"r":2}', '{"r":12345678901234567890123}'] });
  const file = { project_id: projectId, name: "a", mime: "", size_bytes: 5, blob_key: "k" };
  await store.files.add({ ...file, digest: "d" });
  await store.files.add({ ...file, digest: "d" });
  const weaveRef = `weave:///${projectId}/object/o:1`;
  const feedback = {
    project_id: projectId,
    weave_ref: weaveRef,
    feedback_type: "quality",
    payload: "{}",
    wb_user_id: "ann",
  };
  await store.feedback.create(feedback);
  const { id } = await store.feedback.create(feedback);
  const query = { $expr: { $eq: [{ $getField: "id" }, { $literal: id }] } };
  await store.feedback.purge({ project_id: projectId, query });
  return projectId;
}

test("everything that can be read of a project is counted once, with the bytes of its content", async () => {
  expect(await store.projectStats({ project_id: await filledProject() })).toEqual({
    call_count: 2,
    // attributes, inputs, output and summary of the one, attributes and inputs of the other
    trace_storage_size_bytes: 2 + 10 + 1 + 2 + (2 + 9),
    object_version_count: 2,
    objects_storage_size_bytes: 7 + 8,
    table_count: 2,
    table_row_count: 3,
    tables_storage_size_bytes: 7 + 7 + 29,
    file_count: 1,
    feedback_count: 1,
    files_storage_size_bytes: 5,
  });
});

test("a project without anything has nothing, and calls that have expired do not count", async () => {
  const projectId = newProject();
  const nothing = await store.projectStats({ project_id: projectId });
  expect(new Set(Object.values(nothing))).toEqual(new Set([0]));
  await store.ingest([completePart({ project_id: projectId, started_at: nowUs() - 200_000_000_000n })]);
  await store.retention.update(projectId, 1, "alice");
  expect(await store.projectStats({ project_id: projectId })).toEqual(nothing);
});

test("only what is asked for is measured", async () => {
  const projectId = await filledProject();
  reads.reset();
  const stats = await store.projectStats({
    project_id: projectId,
    include_trace_storage_size: false,
    include_object_storage_size: false,
    include_table_storage_size: false,
    include_feedback: false,
  });
  expect(stats).toMatchObject({ call_count: 0, object_version_count: 0, table_count: 0, file_count: 1 });
  expect(reads.sent).toHaveLength(1);
});

test("no content is read for it", async () => {
  const projectId = await filledProject();
  reads.reset();
  await store.projectStats({ project_id: projectId });
  expect(reads.sent).toHaveLength(1);
  for (const { sql, params } of reads.sent) {
    // The plan lists the columns that a statement takes from a table, and its conditions.
    const plan = await db.engine.rows<{ explain: string }>({ sql: `EXPLAIN header = 1 ${sql}`, params });
    const text = plan.map(({ explain }) => explain).join("\n");
    expect(text.match(/ReadFromMergeTree/g)?.length).toBeGreaterThanOrEqual(6);
    expect(text).not.toMatch(/\b(attributes|inputs|output|summary|exact|val|row_digests|payload)\b/);
  }
});
