import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

/** The most units of text that the event loop has looked through in one go. */
const work = vi.hoisted(() => ({ longest: 0 }));

vi.mock(import("@heddle/exact-json"), async (original) => {
  const real = await original();
  const watched =
    <Result>(look: (text: string) => Result) =>
    (text: string): Result => {
      work.longest = Math.max(work.longest, text.length);
      return look(text);
    };
  return { ...real, storable: watched(real.storable), canonicalJson: watched(real.canonicalJson) };
});

let service: TestService;
let key: string;
beforeAll(async () => {
  service = await openTestService();
  key = await service.key({ role: "write" });
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});
beforeEach(() => void (work.longest = 0));

const project = newProject();
const [entity, name] = project.split("/");
const headers = () => ({
  authorization: `Bearer ${key}`,
  "content-encoding": "gzip",
  "content-type": "application/json",
});
const send = async (path: string, body: string, more: Record<string, string> = {}) =>
  await service.fetch(
    new Request(`http://in-process${path}`, {
      method: "POST",
      headers: { ...headers(), ...more },
      body: gzipSync(body, { level: 1 }),
    }),
  );

const value = `{"a":[${'{"b":1},'.repeat(250_000)}1],"c":"${"\\n".repeat(250_000)}"}`;
const time = "2026-04-10T09:00:00Z";
const started = `"project_id":"${project}","trace_id":"t","op_name":"op","started_at":"${time}","attributes":{},"inputs":${value}`;
const ended = `"ended_at":"${time}","summary":{},"output":${value}`;

test.each([
  ["the start of a call", "/call/start", `{"start":{"id":"a",${started}}}`],
  ["the end of a call", "/call/end", `{"end":{"project_id":"${project}","id":"a",${ended}}}`],
  ["a batch", "/call/upsert_batch", `{"batch":[{"mode":"start","req":{"start":{"id":"b",${started}}}}]}`],
  ["complete calls", `/v2/${entity}/${name}/calls/complete`, `{"batch":[{"id":"c",${started},${ended}}]}`],
  ["an object", "/obj/create", `{"obj":{"project_id":"${project}","object_id":"large","val":${value}}}`],
  ["a table", "/table/create", `{"table":{"project_id":"${project}","rows":[${value},{"d":1}]}}`],
])("the event loop never looks through a large value: %s", async (_what, path, body) => {
  expect((await send(path, body)).status).toBe(200);
  expect(work.longest).toBeLessThanOrEqual(128 * 1024);
});

const attribute = (stringValue: string) => ({ key: "input.value", value: { stringValue } });
const spans = (texts: readonly string[]) =>
  JSON.stringify({
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: texts.map((text, n) => ({
              traceId: "0af7651916cd43dd8448eb211c80319c",
              spanId: (n + 1).toString(16).padStart(16, "0"),
              name: "exported",
              startTimeUnixNano: "1775811600000000000",
              endTimeUnixNano: "1775811601000000000",
              attributes: [attribute(text)],
            })),
          },
        ],
      },
    ],
  });

test("nor through the spans of a large export", async () => {
  const small = Array.from({ length: 300 }, (_, n) => `${n} ${"x".repeat(2000)}`);
  const response = await send("/otel/v1/traces", spans([value, ...small]), { project_id: project });
  expect(await response.json()).toEqual({});
  expect(work.longest).toBeLessThanOrEqual(128 * 1024);
  const query = { project_id: project, filter: { op_names: [`weave:///${project}/op/exported:*`] } };
  expect(await (await send("/calls/query_stats", JSON.stringify(query))).json()).toMatchObject({ count: 301 });
});

test("a large export of what is no JSON, or of a project of others, is refused as a small one", async () => {
  const large = spans(["x".repeat(700_000)]).slice(0, -1);
  expect((await send("/otel/v1/traces", large, { project_id: project })).status).toBe(400);
  const key = await service.key({ role: "write", projects: ["other"] });
  const headers = { project_id: project, authorization: `Bearer ${key}` };
  expect((await send("/otel/v1/traces", spans(["x".repeat(700_000)]), headers)).status).toBe(403);
});

test("what was stored so is returned as it was sent", async () => {
  const response = await send("/call/read", JSON.stringify({ project_id: project, id: "c" }));
  const { call } = (await response.json()) as { call: { inputs: object; output: object } };
  expect(JSON.stringify(call.inputs)).toBe(value);
  expect(JSON.stringify(call.output)).toBe(value);
});

test("a batch of thousands of calls is stored whole, in several commits", async () => {
  const calls = Array.from({ length: 20_000 }, (_, n) => {
    const id = `many-${n}`;
    return `{"id":"${id}","project_id":"${project}","trace_id":"${id}","op_name":"many","started_at":"${time}","ended_at":"${time}","attributes":{},"inputs":{},"summary":{},"output":1}`;
  });
  const response = await send(`/v2/${entity}/${name}/calls/complete`, `{"batch":[${calls.join(",")}]}`);
  expect(await response.json()).toEqual({});
  const counted = await send(
    "/calls/query_stats",
    JSON.stringify({ project_id: project, filter: { op_names: ["many"] } }),
  );
  expect(await counted.json()).toMatchObject({ count: 20_000 });
});
