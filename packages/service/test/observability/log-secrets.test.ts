import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { finished, heddle } from "../faults/heddle-process.js";
import { json, startUpstream } from "../upstream.js";

const directory = mkdtempSync(join(tmpdir(), "heddle-log-secrets-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** All of these are somewhere in the settings or in the requests. */
const secret = (name: string) => `SECRET${name}SECRET`;

test.each(["text", "json"])("the %s log has neither keys nor payloads at its most verbose level", async (format) => {
  const upstream = await startUpstream({
    "POST /v1/images/generations": (response, { headers }) =>
      json(response, { error: { message: `no, ${headers["authorization"]}` } }, 401),
  });
  const ownerKey = `${secret("owner")}${"o".repeat(30)}`;
  const provider = { baseUrl: `${upstream.url}/v1`, apiKey: secret("provider"), allowPrivate: true };
  const child = heddle(["serve"], {
    HEDDLE_DATA_DIR: join(directory, format),
    HEDDLE_PORT: "0",
    HEDDLE_OTLP_GRPC_PORT: "off",
    HEDDLE_API_KEY: ownerKey,
    HEDDLE_LOG: format,
    HEDDLE_LOG_LEVEL: "debug",
    HEDDLE_METRICS: "127.0.0.1:0",
    HEDDLE_PROVIDERS: JSON.stringify({ p: { ...provider, kinds: ["images"], models: ["*"] } }),
    // Nothing listens: each export is a line of the log.
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://ann:${secret("url")}@127.0.0.1:9`,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${secret("collector")}`,
    OTEL_BSP_SCHEDULE_DELAY: "20",
    OTEL_EXPORTER_OTLP_TIMEOUT: "200",
  });
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const ended = finished(child);
  try {
    const url = await vi.waitFor(
      () => /(?:listening on {2}|"url":")(http:\/\/[\d.:]+)/.exec(out)?.[1] ?? expect.unreachable(out),
      { timeout: 20_000, interval: 50 },
    );
    const project = { project_id: "local/p" };
    const payload = { text: secret("payload") };
    const call = { ...project, id: "c", trace_id: "c", op_name: secret("op"), started_at: "2026-01-01T00:00:00Z" };
    const start = { start: { ...call, attributes: payload, inputs: payload } };
    const headers = { authorization: `Bearer ${ownerKey}`, "x-secret": secret("header"), cookie: secret("cookie") };
    const send = async (path: string, body: unknown, more: Record<string, string> = {}): Promise<number> => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const response = await fetch(`${url}${path}`, { method: "POST", body: text, headers: { ...headers, ...more } });
      await response.text();
      return response.status;
    };
    expect(await send(`/call/start?token=${secret("query")}`, start)).toBe(200);
    expect(await send("/call/start", start, { authorization: `Bearer ${secret("unknownkey")}` })).toBe(401);
    expect(await send("/call/start", start, { authorization: `Basic ${btoa(`api:${secret("basic")}`)}` })).toBe(401);
    expect(await send("/call/start", `{"start": ${secret("malformed")}`)).toBe(400);
    expect(await send("/call/start", { start: { ...call, started_at: secret("time") } })).toBe(422);
    expect(await send(`/${secret("path")}`, start)).toBe(404);
    expect(await send("/otel/v1/traces", secret("protobuf"), { "content-type": "application/x-protobuf" })).toBe(400);
    expect(await send("/graphql", { query: `{ ${secret("graphql")} }` })).toBe(200);
    const image = { ...project, inputs: { model: "gpt", prompt: secret("prompt"), n: 1 } };
    await send("/image/create", image);
    expect(upstream.received.map((request) => request.headers.authorization)).toEqual([`Bearer ${secret("provider")}`]);
    const query = {
      ...project,
      query: { $expr: { $eq: [{ $getField: secret("field") }, { $literal: secret("literal") }] } },
    };
    expect(await send("/calls/stream_query", query)).toBeLessThan(500);
    await vi.waitFor(() => expect(out).toMatch(/traces of the service cannot be exported/), { timeout: 10_000 });
  } finally {
    child.kill("SIGTERM");
    await ended;
    await upstream.close();
  }
  expect(out).toMatch(/request.*callStart/);
  expect(out).toMatch(/Stopping: finishing what was accepted/);
  expect([...out.matchAll(/SECRET(\w+?)SECRET/g)].map(([, name]) => name)).toEqual([]);
  expect(out).not.toContain(btoa(`api:${secret("basic")}`));
  if (format === "json") {
    for (const line of out.trim().split("\n")) expect(() => JSON.parse(line) as unknown, line).not.toThrow();
  }
});
