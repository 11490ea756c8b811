import { expect, test } from "vitest";
import { readBody, startServer } from "../test/http-server.js";
import { readBytes, withBytes } from "./bytes.js";
import type { ClientOptions } from "./connection.js";
import { connect } from "./connection.js";
import { withForm } from "./form.js";
import { readJson } from "./json.js";
import { withJson, withQuery } from "./outgoing.js";
import type { OutgoingRequest } from "./request.js";

/** What a server sees of a request. */
async function received(outgoing: OutgoingRequest, options: Partial<ClientOptions> = {}) {
  const seen: { method?: string; url?: string; headers: Record<string, unknown>; body: Buffer }[] = [];
  const { baseUrl } = await startServer(async (request, response) => {
    seen.push({ method: request.method, url: request.url, headers: request.headers, body: await readBody(request) });
    response.end();
  });
  expect(await readJson(connect("tracing", undefined, { baseUrl, ...options }), outgoing)).toBeUndefined();
  return { ...seen[0]!, text: seen[0]!.body.toString() };
}

test("inputs are sorted into path, query, headers and body", async () => {
  const input = { object_id: "a/b ü", tags: ["x"], limit: 3, project_id: "acme/demo", left_out: undefined };
  const locations = { query: ["limit"], headers: ["project_id"] };
  const { method, url, headers, text } = await received(
    withJson("act", "PUT /objs/{object_id}/tags", input, locations),
  );
  expect(method).toBe("PUT");
  expect(url).toBe("/objs/a%2Fb%20%C3%BC/tags?limit=3");
  expect(headers).toMatchObject({ project_id: "acme/demo", "content-type": "application/json" });
  expect(JSON.parse(text)).toEqual({ tags: ["x"] });
});

test("without a body the rest is the query; lists repeat their key, null and undefined are left out", async () => {
  const input = { project_id: "acme/demo", ids: ["a", "b"], after: null, order: undefined };
  const { url, headers, text } = await received(withQuery("act", "GET /v2/{project_id}/runs", input));
  expect(url).toBe("/v2/acme%2Fdemo/runs?ids=a&ids=b");
  expect(headers["content-type"]).toBeUndefined();
  expect(text).toBe("");
});

test("free JSON goes as it is, nulls and odd strings included", async () => {
  const inputs = { nothing: null, half: "\ud800", "": { deep: [1, 1e300] } };
  const { text } = await received(withJson("act", "POST /call/start", { start: { inputs } }));
  expect(text).toBe('{"start":{"inputs":{"nothing":null,"half":"\\ud800","":{"deep":[1,1e+300]}}}}');
});

test("a form carries its files with their names", async () => {
  const file = new File([Uint8Array.of(0, 255)], "weights.bin");
  const { headers, body } = await received(
    withForm("act", "POST /file/create", { project_id: "acme/demo", file, expected_digest: undefined }),
  );
  const form = await new Response(body, { headers: { "content-type": String(headers["content-type"]) } }).formData();
  expect([...form.keys()]).toEqual(["project_id", "file"]);
  const part = form.get("file") as File;
  expect(part.name).toBe("weights.bin");
  expect(new Uint8Array(await part.arrayBuffer())).toEqual(Uint8Array.of(0, 255));
});

test("bytes without a name go into a form as a file", async () => {
  const { text } = await received(withForm("act", "POST /file/create", { file: new TextEncoder().encode("hello") }));
  expect(text).toMatch(/name="file"; filename="blob"[^]*hello/);
});

test("raw bytes go out untouched under their media type, and come back", async () => {
  const bytes = Uint8Array.of(0, 10, 13, 255);
  const types: (string | undefined)[] = [];
  const { baseUrl } = await startServer(async (request, response) => {
    types.push(request.headers["content-type"]);
    response.end(await readBody(request));
  });
  const connection = connect("tracing", undefined, { baseUrl });
  const post = (mediaType?: string) =>
    withBytes("act", "POST /otel/v1/traces", "application/x-protobuf", { body: bytes, mediaType });
  expect(await readBytes(connection, post())).toEqual(bytes);
  expect(await readBytes(connection, post("application/json"))).toEqual(bytes);
  expect(types).toEqual(["application/x-protobuf", "application/json"]);
});

test("headers of the client and of one request are sent, the request's win", async () => {
  const { headers } = await received(withQuery("act", "GET /health"), {
    headers: { "x-a": "1", authorization: "Bearer other" },
  });
  expect(headers).toMatchObject({ "x-a": "1", authorization: "Bearer other" });
});

test("a base URL may end in a slash and hold a prefix; one that cannot be fetched is refused at once", async () => {
  const { baseUrl } = await startServer((request, response) => void response.end(JSON.stringify({ url: request.url })));
  const connection = connect("tracing", undefined, { baseUrl: `${baseUrl}/traces/` });
  expect(await readJson(connection, withQuery("act", "GET /health"))).toEqual({ url: "/traces/health" });
  expect(() => connect("tracing", undefined, { baseUrl: "localhost" })).toThrow("URL");
});
