import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

const status = (promise: Promise<unknown>) =>
  promise.then(
    () => 200,
    (error: { status: number }) => error.status,
  );
const startOf = (projectId: string) => ({
  start: {
    project_id: projectId,
    id: "c",
    trace_id: "t",
    op_name: "op",
    started_at: "2026-01-01T00:00:00Z",
    attributes: {},
    inputs: {},
  },
});

test("without a key, with a wrong one and with a revoked one the response is 401", async () => {
  const projectId = newProject();
  const anonymous = await service.fetch("http://in-process/call/read", {
    method: "POST",
    body: JSON.stringify({ project_id: projectId, id: "x" }),
  });
  expect(anonymous.status).toBe(401);
  expect(anonymous.headers.get("www-authenticate")).toMatch(/^Basic/);
  expect(await status(service.tracing("x".repeat(40)).callRead({ project_id: projectId, id: "x" }))).toBe(401);

  const { key, secret } = await service.services.control.keys.create({
    user_name: "bob",
    entity: "acme",
    role: "write",
  });
  expect(await status(service.tracing(secret).callRead({ project_id: projectId, id: "x" }))).toBe(200);
  await service.services.control.keys.revoke(key.id);
  expect(await status(service.tracing(secret).callRead({ project_id: projectId, id: "x" }))).toBe(401);
});

test("every form of credential is taken", async () => {
  const projectId = newProject();
  const forms: Record<string, string>[] = [
    { authorization: `Basic ${btoa(`api:${service.owner_key}`)}` },
    { authorization: `Basic ${btoa(`somebody:${service.owner_key}`)}` },
    { authorization: `Bearer ${service.owner_key}` },
    { "wandb-api-key": service.owner_key },
  ];
  for (const headers of forms) {
    const body = JSON.stringify({ project_id: projectId, id: "x" });
    expect((await service.fetch("http://in-process/call/read", { method: "POST", body, headers })).status).toBe(200);
  }
});

test("roles, entities and projects bound what a key may do, and a foreign project looks the same whether it exists or not", async () => {
  const projectId = newProject("acme");
  const [, name = ""] = projectId.split("/");
  await service.tracing().callStart(startOf(projectId));
  const reader = await service.key({ role: "read" });
  const writer = await service.key({ role: "write", projects: [name] });
  const stranger = await service.key({ entity: "other" });

  expect(await status(service.tracing(reader).callRead({ project_id: projectId, id: "c" }))).toBe(200);
  expect(await status(service.tracing(reader).callStart(startOf(projectId)))).toBe(403);
  expect(await status(service.tracing(writer).callStart(startOf(projectId)))).toBe(200);
  expect(await status(service.tracing(writer).callStart(startOf("acme/elsewhere")))).toBe(403);
  expect(await status(service.tracing(stranger).callRead({ project_id: projectId, id: "c" }))).toBe(403);
  expect(await status(service.tracing(stranger).callRead({ project_id: "acme/never-made", id: "c" }))).toBe(403);
});

test("a project comes into being with the first write that succeeds", async () => {
  const owner = service.tracing();
  const reader = service.tracing(await service.key({ role: "read" }));
  const writer = service.tracing(await service.key({ role: "write" }));
  const [refused, failed, item, span, stored] = Array.from({ length: 5 }, () => newProject());
  const { start } = startOf(failed ?? "");
  expect(await status(reader.callStart(startOf(refused ?? "")))).toBe(403);
  expect(await status(writer.callStart({ start: { ...start, started_at: "1066-10-14T00:00:00Z" } }))).toBe(422);
  expect(await status(writer.objDelete({ project_id: failed ?? "", object_id: "o" }))).toBe(404);
  const bad = { ...startOf(item ?? "").start, started_at: "1066-10-14T00:00:00Z" };
  await writer.callStartBatch({ batch: [{ mode: "start", req: { start: bad } }] });
  const headers = { authorization: `Bearer ${service.owner_key}`, "content-type": "application/json" };
  await service.fetch("http://in-process/otel/v1/traces", {
    method: "POST",
    headers: { ...headers, project_id: span ?? "" },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{ name: "no ids" }] }] }] }),
  });
  await writer.callStart(startOf(stored ?? ""));
  const known = await owner.projectsInfo({ project_ids: [refused, failed, item, span, stored].map(String) });
  expect(known.map(({ external_project_id }) => external_project_id)).toEqual([stored]);
});

test("an item of a project that the key may not write is refused alone", async () => {
  const mine = newProject("acme");
  const writer = service.tracing(await service.key({ entity: "acme" }));
  const item = (projectId: string) => ({ mode: "start" as const, req: startOf(projectId) });
  const { res } = await writer.callStartBatch({ batch: [item("other/theirs"), item(mine)] });
  expect(res).toEqual([{ error: expect.objectContaining({ type: "forbidden" }) }, { id: "c", trace_id: "t" }]);
  expect(await status(writer.callStartBatch({ batch: [item("other/theirs")] }))).toBe(403);
});

test("an item that names an internal project of others is refused alone", async () => {
  const [mine, theirs] = [newProject("acme"), newProject("other")];
  const owner = service.tracing();
  await owner.callStart(startOf(theirs));
  const [info] = await owner.projectsInfo({ project_ids: [theirs] });
  const writer = service.tracing(await service.key({ entity: "acme" }));
  const item = (id: string, ref: string) => {
    const { start } = startOf(mine);
    return { mode: "start" as const, req: { start: { ...start, id, inputs: { ref } } } };
  };
  const { res } = await writer.callStartBatch({
    batch: [
      item("a", `weave-trace-internal:///${info?.internal_project_id}/object/o:v0`),
      item("b", "weave-trace-internal:///nobody/object/o:v0"),
      item("c", "none"),
    ],
  });
  expect(res.map((entry) => ("error" in entry ? entry.error.type : "stored"))).toEqual([
    "value_error",
    "value_error",
    "stored",
  ]);
});

test("long values with refs of internal projects are stored rewritten, and refused as short ones are", async () => {
  const mine = newProject("acme");
  const owner = service.tracing();
  await owner.callStart(startOf(mine));
  const [info] = await owner.projectsInfo({ project_ids: [mine] });
  const refs = (id: string | null | undefined) => Array<string>(2000).fill(`weave-trace-internal:///${id}/object/o:v0`);
  const item = (id: string, inputs: Record<string, unknown>) => {
    const { start } = startOf(mine);
    return { mode: "start" as const, req: { start: { ...start, id, inputs } } };
  };
  const known = refs(info?.internal_project_id);
  const { res } = await owner.callStartBatch({
    batch: [item("long", { known }), item("unknown", { known, last: refs("nobody").slice(-1) })],
  });
  expect(res.map((entry) => ("error" in entry ? entry.error.msg : "stored"))).toEqual([
    "stored",
    expect.stringContaining("unknown project in the ref weave-trace-internal:///nobody/object/o:v0"),
  ]);
  const { call } = await owner.callRead({ project_id: mine, id: "long" });
  expect(call?.inputs).toEqual({ known: known.map(() => `weave:///${mine}/object/o:v0`) });
});

test("health, version and server info are open", async () => {
  for (const path of [
    "/health",
    "/version",
    "/server_info",
    "/v1/health",
    "/v1/system-check",
    "/geolocate",
    "/traces/server_info",
  ]) {
    const answer = await service.fetch(`http://in-process${path}`);
    expect([path, answer.status]).toEqual([path, 200]);
  }
});

test("parameters of the query that an operation does not read are named, with those that were meant", async () => {
  const projectId = newProject();
  const read = async (path: string) => {
    const headers = { authorization: `Bearer ${service.owner_key}` };
    const response = await service.fetch(`http://in-process${path}`, { headers });
    return [response.status, response.headers.get("x-heddle-unknown-parameters")];
  };
  expect(await read(`/v2/${projectId}/datasets?limt=3&limit=2&verb%C3%B6se=1&limt=4`)).toEqual([
    200,
    "limt (limit?), verb%C3%B6se",
  ]);
  expect(await read(`/v2/${projectId}/datasets?limit=3`)).toEqual([200, null]);
  expect(await read(`/traces/v2/${projectId}/datasets?Offset=3`)).toEqual([200, "Offset (offset?)"]);
  expect(await read("/health?check=1")).toEqual([200, "check"]);
  expect(await read("/v1/models?limit=1")).toEqual([200, "limit"]);
  const many = Array.from({ length: 50 }, (_, at) => `${at}${"%F0%9F%98%80".repeat(50)}=`).join("&");
  const [, named] = await read(`/health?${many}`);
  expect(String(named).split(", ")).toHaveLength(10);
});

test("a read of a project to which nothing was written says so, to those who may read it", async () => {
  const projectId = newProject();
  const read = async (path: string, body: unknown, key = service.owner_key) => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await service.fetch(`http://in-process${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return [response.status, response.headers.get("x-heddle-unknown-project")];
  };
  expect(await read("/calls/stream_query", { project_id: projectId })).toEqual([200, projectId]);
  expect(await read("/objs/query", { project_id: projectId })).toEqual([200, projectId]);
  expect(await read(`/v2/${projectId}/datasets`, undefined)).toEqual([200, projectId]);
  expect(await read("/calls/query_stats", { project_id: `${projectId}-ü` })).toEqual([
    200,
    encodeURI(`${projectId}-ü`),
  ]);
  const { secret } = await service.services.control.keys.create({ user_name: "eve", entity: "rival", role: "read" });
  expect(await read("/calls/query_stats", { project_id: projectId }, secret)).toEqual([403, null]);
  await service.tracing().callStart(startOf(projectId));
  expect(await read("/calls/stream_query", { project_id: projectId })).toEqual([200, null]);
});
