import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(async () => await service.close());

const dayMs = 86_400_000;

async function callOf(projectId: string, ageDays: number): Promise<string> {
  const startedAt = new Date(Date.now() - ageDays * dayMs).toISOString();
  const start = { project_id: projectId, op_name: "op", started_at: startedAt, attributes: {}, inputs: { a: 1 } };
  return (await service.tracing().callStart({ start })).id;
}

test("an administrator sets for how long calls are kept; older ones cannot be read from then on", async () => {
  const projectId = newProject();
  const tracing = service.tracing(await service.key({ role: "admin" }));
  const [old, young] = [await callOf(projectId, 40), await callOf(projectId, 10)];
  expect(await tracing.projectTtlSettingsRead({ project_id: projectId })).toEqual({ retention_days: null });
  expect(await tracing.projectTtlSettingsUpdate({ project_id: projectId, retention_days: 30 })).toEqual({
    retention_days: 30,
  });
  expect(await tracing.projectTtlSettingsRead({ project_id: projectId })).toEqual({ retention_days: 30 });
  expect((await tracing.callRead({ project_id: projectId, id: old })).call).toBeNull();
  const { call } = await tracing.callRead({ project_id: projectId, id: young });
  const lifetime = Date.parse(call?.expire_at ?? "") - Date.parse(call?.started_at ?? "");
  expect(lifetime).toBe(30 * dayMs);
  expect(await tracing.projectTtlSettingsUpdate({ project_id: projectId })).toEqual({ retention_days: null });
  expect((await tracing.callRead({ project_id: projectId, id: young })).call?.expire_at).toBeNull();
});

test("a key that may write may not delete by a setting", async () => {
  const projectId = newProject();
  const tracing = service.tracing(await service.key({ role: "write" }));
  await expect(tracing.projectTtlSettingsUpdate({ project_id: projectId, retention_days: 1 })).rejects.toMatchObject({
    status: 403,
  });
  expect(await tracing.projectTtlSettingsRead({ project_id: projectId })).toEqual({ retention_days: null });
});

test.each([0, -1, 36_501, 1.5, "30"])("a retention of %j days is refused with the field", async (days) => {
  const request = { project_id: newProject(), retention_days: days as number };
  await expect(service.tracing().projectTtlSettingsUpdate(request)).rejects.toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body", "retention_days"] }] },
  });
});

test("a project is measured with what it has", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  await callOf(projectId, 1);
  await tracing.fileCreate({ project_id: projectId, file: new TextEncoder().encode("hello") });
  expect(await tracing.projectStats({ project_id: projectId, include_table_storage_size: false })).toEqual({
    trace_storage_size_bytes: 9,
    objects_storage_size_bytes: 0,
    tables_storage_size_bytes: 0,
    files_storage_size_bytes: 5,
    call_count: 1,
    object_version_count: 0,
    table_count: 0,
    table_row_count: 0,
    file_count: 1,
    feedback_count: 0,
  });
});
