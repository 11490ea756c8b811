import { request as httpRequest } from "node:http";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as nextRoute from "../../examples/next-route.js";
import worker from "../../examples/worker.js";
import { runProgram } from "./run-program.js";
import type { ProgramOptions, Running } from "./run-program.js";
import type { Runtime } from "@heddle/tools/runtimes";

// The examples of README.md, literally, in the runtimes and frameworks that they are for.

interface Mount {
  example: string;
  runtime: Runtime;
  /** Path that the example mounts the server at. */
  path?: string;
  options?: ProgramOptions;
}

const mounts: Record<string, Mount> = {
  "listen in Node": { example: "node", runtime: "node" },
  "node:http": { example: "node-http", runtime: "node" },
  "Express 5": { example: "express", runtime: "node", path: "/heddle" },
  "Express 4": { example: "express", runtime: "node", path: "/heddle", options: { alias: { express: "express4" } } },
  Fastify: { example: "fastify", runtime: "node", path: "/heddle" },
  Nest: { example: "nest", runtime: "node", path: "/heddle" },
  "Hono in Bun": { example: "hono", runtime: "bun", path: "/heddle" },
  "Bun.serve": { example: "bun", runtime: "bun" },
  "Deno.serve": { example: "deno", runtime: "deno" },
  "a module of Workers in Bun": { example: "worker", runtime: "bun" },
  "a module of Workers in workerd": { example: "worker", runtime: "workerd" },
};

type Send = (path: string, init?: RequestInit) => Promise<Response>;

const running = new Map<string, Running>();
beforeAll(async () => {
  const start = async ([name, { example, runtime, options }]: [string, Mount]) =>
    running.set(name, await runProgram(`examples/${example}.ts`, runtime, options));
  const started = await Promise.allSettled(Object.entries(mounts).map(start));
  for (const result of started) if (result.status === "rejected") throw result.reason;
});
afterAll(() => Promise.all([...running.values()].map(({ stop }) => stop())));

const overSockets = Object.entries(mounts).map(([name, { path = "" }]): [string, Send] => [
  name,
  (target, init) => fetch(running.get(name)!.url + path + target, init),
]);

/** As the types of the Workers runtime have it, with arguments after the request. */
interface ExportedHandler {
  fetch(request: Request, env: { SECRET: string }, context: { waitUntil(promise: Promise<unknown>): void }): unknown;
}
const exported: ExportedHandler = worker;
const workerContext = { waitUntil: () => {}, passThroughOnException: () => {} };

/** As Next calls what a `route.ts` exports. */
type RouteHandler = (request: Request, context: { params: Promise<object> }) => Promise<Response>;
const route: Record<string, RouteHandler> = nextRoute;

const asFunctions: [string, Send][] = [
  [
    "a module of Workers as a function",
    async (path, init) =>
      (await exported.fetch(new Request(`http://worker${path}`, init), { SECRET: "s" }, workerContext)) as Response,
  ],
  [
    "a route handler of Next",
    (path, init) => {
      const request = new Request(`http://next/heddle${path}`, init);
      return route[request.method]!(request, { params: Promise.resolve({ path: path.split("/") }) });
    },
  ],
];

const headers = { authorization: "Bearer open-sesame", "content-type": "application/json" };
const inputs = '{"x" : 1.0,"n":12345678901234567890,"x":2}';
const start = (id: string) =>
  `{"start":{"id":"${id}","project_id":"acme/demo","op_name":"f","started_at":1,"attributes":{},"inputs":${inputs}}}`;
const read = (id: string) => JSON.stringify({ project_id: "acme/demo", id });
const compressedZeros = gzipSync(new Uint8Array(40_000_000));

describe.each([...overSockets, ...asFunctions])("%s", (name, send) => {
  const post = (path: string, body: RequestInit["body"], more: Record<string, string> = {}) =>
    send(path, { method: "POST", body, headers: { ...headers, ...more } });

  test("stores free JSON and returns it as it was sent, also in a stream", async () => {
    expect(await (await post("/call/start", start("c1"))).json()).toEqual({ id: "c1", trace_id: "c1" });
    expect(await (await post("/call/read", read("c1"))).text()).toContain(`"inputs":${inputs}`);
    const stream = await post("/calls/stream_query", '{"project_id":"acme/demo"}');
    expect([stream.status, stream.headers.get("content-type")]).toEqual([200, "application/jsonl"]);
    expect(await stream.text()).toContain(`"inputs":${inputs}`);
  });

  test("reads a compressed body, and a long one", async () => {
    const compressed = await post("/call/start", gzipSync(start("c2")), { "content-encoding": "gzip" });
    expect(await compressed.json()).toEqual({ id: "c2", trace_id: "c2" });
    const long = start("c3").replace('"op_name":"f"', `"op_name":"f","padding":"${"x".repeat(2_000_000)}"`);
    expect(await (await post("/call/start", long)).json()).toEqual({ id: "c3", trace_id: "c3" });
  });

  test("responds to what is wrong as the table of outcomes says", async () => {
    const responses = await Promise.all([
      post("/call/read", read("c1"), { authorization: "Bearer other" }),
      post("/call/read", '{"project_id":"other/project","id":"c1"}'),
      post("/call/nothing", "{}"),
      send("/call/read", { headers }),
      post("/call/read", '{"project_id":'),
      post("/call/read", '{"project_id":"acme/demo"}'),
      post("/obj/read", '{"project_id":"acme/demo","object_id":"o","digest":"d"}'),
    ]);
    // The module of Workers has one group alone.
    const ofOtherGroup = name.includes("Workers") ? 404 : 501;
    expect(responses.map(({ status }) => status)).toEqual([401, 403, 404, 405, 400, 422, ofOtherGroup]);
    for (const response of responses) expect(Object.keys((await response.json()) as object)).toHaveLength(1);
  });

  test("a body over the limit is refused, and the next request is served", async () => {
    expect((await post("/call/start", compressedZeros, { "content-encoding": "gzip" })).status).toBe(413);
    expect((await post("/call/read", read("c1"))).status).toBe(200);
  });
});

test.each(overSockets.map(([name]) => name))("%s refuses a body by its declared length", async (name) => {
  const { path = "" } = mounts[name]!;
  const outgoing = httpRequest(`${running.get(name)!.url}${path}/call/start`, {
    method: "POST",
    headers: { ...headers, "content-length": 40_000_000 },
  });
  const status = new Promise((resolve, reject) => {
    outgoing.once("response", (response) => resolve(response.statusCode));
    outgoing.once("error", reject);
  });
  outgoing.write("{");
  expect(await status).toBe(413);
  outgoing.destroy();
});
