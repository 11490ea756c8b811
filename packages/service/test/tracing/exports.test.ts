import { setTimeout as delay } from "node:timers/promises";
import { parquetReadObjects } from "hyparquet";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ExportCreateInput } from "@heddle/client/tracing";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
const projectId = newProject();
const inputs = '{"q":"=1+2","n":107505301260286111,"f":1.0,\n "note":"a,b"}';
beforeAll(async () => {
  service = await openTestService();
  const post = async (path: string, body: string) =>
    await service.fetch(`http://in-process${path}`, { method: "POST", body, headers: bearer(service.owner_key) });
  for (const [n, exception] of [null, "-broken", null].entries()) {
    const start = `{"project_id":"${projectId}","id":"c${n}","trace_id":"t","op_name":"answer","started_at":"2026-04-10T09:00:0${n}Z","attributes":{},"inputs":${inputs}}`;
    expect((await post("/call/start", `{"start":${start}}`)).status).toBe(200);
    const end = `{"project_id":"${projectId}","id":"c${n}","ended_at":"2026-04-10T09:00:1${n}Z","output":{"n":${n}.50},"summary":{}${exception === null ? "" : `,"exception":"${exception}"`}}`;
    expect((await post("/call/end", `{"end":${end}}`)).status).toBe(200);
  }
  const started = "2026-04-10T10:00:00Z";
  const [entity = "", project = ""] = projectId.split("/");
  const chat = {
    inputs: { messages: [{ role: "user", content: "hi" }], tools: [{ type: "function" }] },
    output: { choices: [{ message: { role: "assistant", content: "hello" } }] },
  };
  const call = {
    project_id: projectId,
    id: "chat",
    trace_id: "u",
    op_name: "chat",
    started_at: started,
    ended_at: started,
  };
  await service.tracing().callsComplete({
    entity,
    project,
    batch: [{ ...call, attributes: {}, summary: {}, ...chat }],
  });
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected).toEqual([]));

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const answers = { filter: { op_names: ["answer"] } };

const link = async (request: Omit<ExportCreateInput, "project_id">, key?: string) =>
  await service.tracing(key).exportCreate({ project_id: projectId, ...request });
const open = async (url: string, init?: RequestInit) => await service.fetch(url, init);
const textOf = async (request: Omit<ExportCreateInput, "project_id">) =>
  await (await open((await link(request)).url)).text();

test("calls come as they are recorded, a line each", async () => {
  const { url, expires_at } = await link(answers);
  expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(590_000);
  const response = await open(url);
  expect(response.headers.get("content-type")).toBe("application/jsonl");
  expect(response.headers.get("content-disposition")).toMatch(/^attachment; filename="p-\w+-calls\.jsonl"$/);
  const lines = (await response.text()).trimEnd().split("\n");
  expect(lines).toHaveLength(3);
  expect(lines[1]).toContain(`"inputs":${inputs.replace("\n", " ")}`);
  expect(lines[1]).toContain('"output":{"n":1.50}');
  expect(JSON.parse(lines[1] ?? "")).toMatchObject({ id: "c1", exception: "-broken" });
});

test("what is selected comes under its names, in the order that was asked for", async () => {
  const select = ["id", "status", "started_at", "latency_ms", "inputs.q", "inputs.n", "output.n", "inputs.missing"];
  const query = { ...answers, sort_by: [{ field: "started_at", direction: "desc" as const }], select };
  expect(await textOf({ ...query, format: "csv" })).toBe(
    [
      "id,status,started_at,latency_ms,inputs.q,inputs.n,output.n,inputs.missing",
      "c2,success,2026-04-10T09:00:02.000000Z,10000,'=1+2,107505301260286111,2.50,",
      "c1,error,2026-04-10T09:00:01.000000Z,10000,'=1+2,107505301260286111,1.50,",
      "c0,success,2026-04-10T09:00:00.000000Z,10000,'=1+2,107505301260286111,0.50,",
      "",
    ].join("\r\n"),
  );
  const [line] = (await textOf(query)).split("\n");
  expect(line).toBe(
    '{"id":"c2","status":"success","started_at":"2026-04-10T09:00:02.000000Z","latency_ms":10000,"inputs.q":"=1+2","inputs.n":107505301260286111,"output.n":2.50}',
  );
  const whole = await textOf({ filter: { call_ids: ["c1"] }, format: "csv" });
  expect(whole.split("\r\n")[0]).toBe(
    "id,trace_id,parent_id,thread_id,turn_id,op_name,name,status,started_at,ended_at,latency_ms,exception,user,inputs,output,attributes,summary",
  );
  expect(whole).toContain(",10000,'-broken,");
  expect(whole).toContain('"{""q"":""=1+2"",""n"":107505301260286111,""f"":1.0,\n ""note"":""a,b""}"');
  expect(await textOf({ search: { text: "hello" }, select: ["id"] })).toBe('{"id":"chat"}\n');
});

test("a table has the types of what it holds, and each name once", async () => {
  const select = ["id", "started_at", "latency_ms", "inputs.n", "output"];
  const response = await open((await link({ ...answers, format: "parquet", select })).url);
  expect(response.headers.get("content-type")).toBe("application/vnd.apache.parquet");
  expect(response.headers.get("content-disposition")).toMatch(/-calls\.parquet"$/);
  const rows = await parquetReadObjects({ file: await response.arrayBuffer() });
  expect(rows[1]).toEqual({
    id: "c1",
    started_at: new Date("2026-04-10T09:00:01Z"),
    latency_ms: 10_000n,
    "inputs.n": "107505301260286111",
    output: '{"n":1.50}',
  });
  expect(rows).toHaveLength(3);
});

test("recorded completions come as chats, other calls do not", async () => {
  expect(await textOf({ format: "chat_jsonl" })).toBe(
    '{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}],"tools":[{"type":"function"}]}\n',
  );
});

test.each([
  ["深度學習.png", "_.png", "%E6%B7%B1%E5%BA%A6%E5%AD%B8%E7%BF%92.png"],
  ["cafe\u0301 1.txt", "cafe__1.txt", "cafe%CC%81_1.txt"],
  ["a😀.bin", "a_.bin", "a%F0%9F%98%80.bin"],
  ["a\u202etxt.exe", "a_txt.exe", undefined],
])("a file named %s is downloaded under its name", async (name, ascii, encoded) => {
  const { digest } = await service.tracing().fileCreate({ project_id: projectId, file: new File([name], name) });
  const { headers } = await open((await link({ file: digest })).url);
  const more = encoded === undefined ? "" : `; filename*=UTF-8''${encoded}`;
  expect(headers.get("content-disposition")).toBe(`attachment; filename="${ascii}"${more}`);
});

test("a file comes with its bytes and its name", async () => {
  const file = new File([new Uint8Array([0, 255, 1])], 'a "b".png');
  const { digest } = await service.tracing().fileCreate({ project_id: projectId, file });
  const response = await open((await link({ file: digest })).url);
  expect(response.headers.get("content-disposition")).toBe('attachment; filename="a_b_.png"');
  expect(response.headers.get("content-type")).toBe("application/octet-stream");
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(new Uint8Array([0, 255, 1]));
  const missing = link({ file: "unknown" }).catch((error: unknown) => error);
  expect(await missing).toMatchObject({ status: 404 });
  const both = link({ file: digest, format: "csv" }).catch((error: unknown) => error);
  expect(await both).toMatchObject({ status: 422 });
});

test("a link is good for three downloads, and looking at it is none", async () => {
  const { url } = await link(answers);
  for (let n = 0; n < 5; n++) expect((await open(url, { method: "HEAD" })).status).toBe(200);
  for (let n = 0; n < 3; n++) expect(await (await open(url)).text()).not.toBe("");
  const after = await open(url);
  expect([after.status, await after.json()]).toEqual([404, { reason: expect.stringContaining("used up") }]);
  for (const token of ["x", "%00", "x".repeat(256), "../me"])
    expect((await open(`http://in-process/exports/${encodeURIComponent(token)}`)).status).toBe(404);
});

test("a link has no more rights than the key that made it has when it is used", async () => {
  const key = await service.services.control.keys.create({ user_name: "eve", entity: "acme", role: "read" });
  const { url } = await link(answers, key.secret);
  expect(await (await open(url)).text()).not.toBe("");
  await service.services.control.keys.revoke(key.key.id);
  expect((await open(url)).status).toBe(403);
  const stranger = await service.key({ entity: "other", role: "admin" });
  expect(await link(answers, stranger).catch((error: unknown) => error)).toMatchObject({ status: 403 });
  const limited = await service.key({ role: "read", projects: ["another"] });
  expect(await link(answers, limited).catch((error: unknown) => error)).toMatchObject({ status: 403 });
});

describe("what cannot be exported is refused when the link is made", () => {
  test.each([
    [{ select: ["id", "secret"] }, ["select", 1]],
    [{ select: ["__proto__"], format: "csv" as const }, ["select", 0]],
    [{ select: ["id", "name", "id"], format: "parquet" as const }, ["select", 2]],
    [{ sort_by: [{ field: "nothing", direction: "asc" as const }] }, undefined],
    [{ query: { $expr: { $eq: [{ $getField: "nothing" }, { $literal: 1 }] } } }, undefined],
  ])("%j", async (request, loc) => {
    const error = await link(request as never).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status: expect.toBeOneOf([400, 422]) });
    if (loc) expect(error).toMatchObject({ body: { detail: [{ loc: ["body", ...loc] }] } });
  });
});

test("a key downloads one export at a time, and others go on meanwhile", async () => {
  const key = await service.key({ role: "read" });
  const links = await Promise.all([link(answers, key), link(answers, key)]);
  const acquired = service.services.store.calls;
  const query = acquired.query.bind(acquired);
  let running = 0;
  let most = 0;
  acquired.query = async function* (...args) {
    most = Math.max(most, ++running);
    await delay(50);
    try {
      yield* query(...args);
    } finally {
      running -= 1;
    }
  };
  try {
    const [mine, again, other] = await Promise.all([
      ...links.map(async ({ url }) => await (await open(url)).text()),
      service.tracing().callsQuery({ project_id: projectId }),
    ]);
    expect(mine).toBe(again);
    expect(other).toMatchObject({ calls: [{}, {}, {}, {}] });
  } finally {
    acquired.query = query;
  }
  expect(most).toBeLessThanOrEqual(2);
});

test("a download that fails in its middle is cut off", async () => {
  const { url } = await link(answers);
  const { calls } = service.services.store;
  const query = calls.query.bind(calls);
  calls.query = async function* (...args) {
    for await (const call of query(...args)) {
      for (let n = 0; n < 500; n++) yield call;
      throw new Error("the engine is gone");
    }
  };
  try {
    const response = await open(url);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  } finally {
    calls.query = query;
  }
  expect(service.unexpected.splice(0)).toHaveLength(1);
});

test("a project that is being deleted exports nothing, and its links go with it", async () => {
  const doomed = newProject();
  await service.tracing().objCreate({ obj: { project_id: doomed, object_id: "o", val: 1 } });
  const { url } = await service.tracing().exportCreate({ project_id: doomed });
  await service.tracing().projectDelete({ project_id: doomed, expected_name: doomed.split("/")[1] ?? "" });
  expect((await open(url)).status).toBe(404);
});
