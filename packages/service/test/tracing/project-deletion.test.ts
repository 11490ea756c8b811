import { join } from "node:path";
import Database from "libsql";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { seededTenant } from "../isolation/tenants.js";
import { requestOf, routeSamples } from "../routes/route-samples.js";
import { routeTenant } from "../routes/route-tenants.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeEach(async () => {
  service = await openTestService();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await service.close();
});

const nameOf = (projectId: string): string => projectId.slice(projectId.indexOf("/") + 1);
const deleteProject = async (projectId: string, key?: string) =>
  await service.tracing(key).projectDelete({ project_id: projectId, expected_name: nameOf(projectId) });

async function startCall(projectId: string): Promise<string> {
  const start = { op_name: "op", started_at: "2026-01-01T00:00:00Z", attributes: {}, inputs: {} };
  return (await service.tracing().callStart({ start: { project_id: projectId, ...start } })).id;
}

/** How many rows of each table of both databases have to do with a project. */
async function rowsOf(projectId: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  const tables = await service.tracingRows(
    "SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'project_id'",
  );
  for (const { table = "" } of tables) {
    const [count] = await service.tracingRows(`SELECT count() AS rows FROM ${table} WHERE project_id = '${projectId}'`);
    found[table] = Number(count?.["rows"]);
  }
  const control = new Database(join(service.services.config.dataDir, "control.db"), { readonly: true });
  for (const { name } of control.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as {
    name: string;
  }[]) {
    const rows = control.prepare(`SELECT * FROM "${name}"`).all() as object[];
    found[name] = (found[name] ?? 0) + rows.filter((row) => Object.values(row).includes(projectId)).length;
  }
  control.close();
  return found;
}

test(
  "everything of a project is gone from every table, nothing of another one, and its name is free",
  { timeout: 120_000 },
  async () => {
    const [mine, other] = [newProject(), newProject()];
    await Promise.all([seededTenant(service, mine), seededTenant(service, other)]);
    const [before, kept] = [await rowsOf(mine), await rowsOf(other)];
    expect(Object.values(before).filter((rows) => rows > 0).length).toBeGreaterThan(12);
    expect(await deleteProject(mine)).toEqual({ project_id: mine });
    expect(Object.entries(await rowsOf(mine)).filter(([table, rows]) => rows > 0 && table !== "api_keys")).toEqual([]);
    expect(await rowsOf(other)).toEqual(kept);
    await expect(deleteProject(mine)).rejects.toMatchObject({ status: 404 });
    await startCall(mine);
    expect(await service.tracing().projectStats({ project_id: mine })).toMatchObject({
      call_count: 1,
      object_version_count: 0,
    });
    expect((await service.tracing().projectStats({ project_id: other })).call_count).toBeGreaterThan(0);
    expect(service.unexpected).toEqual([]);
  },
);

test("calls that were running or deleted before can be recorded again under their ids", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  const start = {
    project_id: projectId,
    trace_id: "t",
    op_name: "op",
    started_at: "2026-01-01T00:00:00Z",
    attributes: {},
    inputs: {},
  };
  for (const id of ["running", "deleted"]) await tracing.callStart({ start: { ...start, id } });
  await tracing.callsDelete({ project_id: projectId, call_ids: ["deleted"] });
  await deleteProject(projectId);
  await tracing.callEnd({
    end: { project_id: projectId, id: "running", ended_at: "2026-01-01T00:00:01Z", summary: {} },
  });
  expect((await tracing.callsQueryStats({ project_id: projectId })).count).toBe(0);
  await tracing.callStart({ start: { ...start, id: "deleted" } });
  expect((await tracing.callRead({ project_id: projectId, id: "deleted" })).call?.id).toBe("deleted");
});

test("a project is deleted by an admin who repeats its name", async () => {
  const projectId = newProject();
  const id = await startCall(projectId);
  const wrong = { project_id: projectId, expected_name: `${nameOf(projectId)}x` };
  await expect(service.tracing().projectDelete(wrong)).rejects.toMatchObject({ status: 422 });
  await expect(deleteProject(projectId, await service.key({ role: "write" }))).rejects.toMatchObject({ status: 403 });
  const elsewhere = await service.key({ role: "admin", projects: ["elsewhere"] });
  await expect(deleteProject(projectId, elsewhere)).rejects.toMatchObject({ status: 403 });
  await expect(deleteProject(newProject())).rejects.toMatchObject({ status: 404 });
  expect((await service.tracing().callRead({ project_id: projectId, id })).call?.id).toBe(id);
  const admin = await service.key({ role: "admin", projects: [nameOf(projectId)] });
  expect(await deleteProject(projectId, admin)).toEqual({ project_id: projectId });
});

test("a deletion that failed is finished later, and nobody uses the project until then", async () => {
  const projectId = newProject();
  const id = await startCall(projectId);
  const { store, control, projectDeletion } = service.services;
  const failing = vi.spyOn(store, "deleteProject").mockRejectedValueOnce(new Error("the engine is gone"));
  await expect(deleteProject(projectId)).rejects.toMatchObject({ status: 500 });
  service.unexpected.splice(0);
  const conflict = { status: 409 };
  const tracing = service.tracing();
  await expect(tracing.callRead({ project_id: projectId, id })).rejects.toMatchObject(conflict);
  await expect(startCall(projectId)).rejects.toMatchObject(conflict);
  const end = { project_id: projectId, id, ended_at: "2026-01-01T00:00:01Z", summary: {} };
  const batch = [{ mode: "end" as const, req: { end } }];
  const { res } = await tracing.callStartBatch({ batch });
  expect(res).toMatchObject([{ error: { msg: `the project ${projectId} is being deleted` } }]);
  expect(control.projectDeletions.has(projectId)).toBe(true);
  // As a service does at its start.
  projectDeletion.resume();
  await expect.poll(() => control.projectDeletions.has(projectId), { timeout: 20_000 }).toBe(false);
  expect(failing).toHaveBeenCalledTimes(2);
  expect((await tracing.callRead({ project_id: projectId, id })).call).toBeNull();
});

test("several requests for one project wait for one deletion", async () => {
  const projectId = newProject();
  await startCall(projectId);
  const work = vi.spyOn(service.services.store, "deleteProject");
  const responses = await Promise.allSettled([1, 2, 3].map(async () => await deleteProject(projectId)));
  expect(responses.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
  expect(work).toHaveBeenCalledTimes(1);
});

test("nor does wandb use a project that is being deleted", async () => {
  const projectId = newProject();
  const { control } = service.services;
  const { key, secret } = await control.keys.create({ user_name: "ann", entity: "acme", role: "write" });
  const tenant = await routeTenant(service, projectId, key.id);
  const own = ["graphql", "fileStream", "signedUrl"] as const;
  const samples = own.flatMap((name) => routeSamples[name](tenant, service).map((sample) => ({ name, sample })));
  const ofProject = samples.filter(({ sample }) => JSON.stringify(sample).includes(nameOf(projectId)) || !sample.body);
  await control.projectDeletions.begin(projectId, "ann");
  const statuses = new Map<string, number[]>();
  for (const { name, sample } of ofProject) {
    const { status } = await service.fetch(...requestOf(sample, secret));
    statuses.set(name, [...(statuses.get(name) ?? []), status]);
  }
  expect([...statuses.keys()]).toEqual([...own]);
  for (const [name, all] of statuses) expect([name, new Set(all)]).toEqual([name, new Set([409])]);
  const foreign = await service.key({ entity: "rival", role: "admin" });
  const named = routeSamples.fileStream(tenant, service)[0];
  if (named) expect((await service.fetch(...requestOf(named, foreign))).status).toBe(403);
});
