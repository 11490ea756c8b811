import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService, ownerKey } from "./test-service.js";
import type { TestService } from "./test-service.js";

let service: TestService;
let url: string;
const projectId = newProject();
beforeAll(async () => {
  service = await openTestService({ HEDDLE_MAX_RESPONSE: "1MB" }, { everyRoute: true });
  url = await service.listen();
  const tracing = service.tracing();
  const [entity = "", project = ""] = projectId.split("/");
  const started = "2026-04-10T09:00:00Z";
  const call = { project_id: projectId, trace_id: "t", op_name: "op", started_at: started, ended_at: started };
  const calls = Array.from({ length: 500 }, (_, n) => ({
    ...call,
    id: `c${n}`,
    attributes: {},
    inputs: { n, text: "x".repeat(3000) },
    summary: {},
  }));
  await tracing.callsComplete({ entity, project, batch: calls });
});
afterAll(() => service.close());

async function send(
  path: string,
  { body, ...headers }: { body?: string } & Record<string, string> = {},
): Promise<{ response: IncomingMessage; sent: string }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const all = { authorization: `Bearer ${ownerKey}`, "accept-encoding": "gzip", ...headers };
    const options = { method: body === undefined ? "GET" : "POST", headers: all, agent: false };
    request(`${url}${path}`, options, resolve).on("error", reject).end(body);
  });
  const isEncoded = response.headers["content-encoding"] === "gzip";
  return { response, sent: await text(isEncoded ? response.pipe(createGunzip()) : response) };
}

const query = (limit: number) => JSON.stringify({ project_id: projectId, limit });

test.each([
  ["a list", "/calls/query", query(20)],
  ["a stream", "/calls/stream_query", query(50)],
  ["the list of operations of the spec", "/v1/base-models", undefined],
  ["a route beside the spec", "/metrics", undefined],
  ["GraphQL", "/graphql", JSON.stringify({ query: "{ __schema { types { name description fields { name } } } }" })],
])("%s is compressed, and says that it depends on the request", async (_, path, body) => {
  const headers = { "content-type": "application/json", ...(body !== undefined && { body }) };
  const { response, sent } = await send(path, headers);
  expect(response.headers["vary"]).toMatch(/\baccept-encoding\b/);
  if (sent.length > 1024) expect(response.headers["content-encoding"]).toBe("gzip");
  const plain = await send(path, { ...headers, "accept-encoding": "identity" });
  expect(plain.response.headers["content-encoding"]).toBeUndefined();
  if (path !== "/metrics") expect(sent).toBe(plain.sent);
});

test("the limit of responses is of what they hold, and not of what is sent", async () => {
  const { response, sent } = await send("/calls/query", { body: query(500), "content-type": "application/json" });
  expect(response.statusCode, sent).toBe(413);
});

test("a response with a secret is not compressed", async () => {
  const projects = Array.from({ length: 90 }, (_, n) => `a-project-with-a-long-name-${n}`);
  const body = JSON.stringify({ user: "ann", role: "read", entity: "acme", projects });
  const created = await send("/keys", { body, "content-type": "application/json" });
  const { secret } = JSON.parse(created.sent) as { secret: string };
  expect(created.sent.length).toBeGreaterThan(2048);
  const logIn = await send("/sessions", {
    body: JSON.stringify({ api_key: secret }),
    "content-type": "application/json",
    authorization: "",
  });
  expect(logIn.sent.length).toBeGreaterThan(2048);
  for (const { response } of [created, logIn]) {
    expect(response.headers["content-encoding"]).toBeUndefined();
    expect(response.headers["cache-control"]).toBe("no-store, no-transform");
  }
});

test("clients that ask for it by themselves read what was sent", async () => {
  const response = await fetch(`${url}/calls/stream_query`, {
    method: "POST",
    headers: { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" },
    body: query(50),
  });
  expect(response.headers.get("content-encoding")).toBe("gzip");
  expect((await response.text()).trimEnd().split("\n")).toHaveLength(50);
});
