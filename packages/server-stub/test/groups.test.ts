import { expect, expectTypeOf, test } from "vitest";
import { toFetch } from "../src/fetch.js";
import { calls } from "../src/generated/tracing/calls.js";
import { files } from "../src/generated/tracing/files.js";
import { health } from "../src/generated/training/health.js";
import { createServer } from "../src/server.js";

interface Caller {
  user: string;
}

const handlers = calls<Caller>({
  callStart({ body }, caller) {
    expectTypeOf(body.start.parent_id).toEqualTypeOf<string | undefined>();
    expectTypeOf(caller).toEqualTypeOf<Caller>();
    return { id: caller.user, trace_id: body.start.inputs.text };
  },
});

const start = '{"start":{"project_id":"a/b","op_name":"f","started_at":1,"attributes":{},"inputs":{"x" : 1.0}}}';

test("a server has the groups that it was given, and no others", async () => {
  const send = toFetch(createServer([handlers, files({})], { authenticate: () => ({ user: "ada" }) }));
  const post = (path: string, body: string) =>
    send(new Request(`http://in-process${path}`, { method: "POST", body, headers: { authorization: "Bearer k" } }));
  expect(await (await post("/call/start", start)).json()).toEqual({ id: "ada", trace_id: '{"x" : 1.0}' });
  expect((await post("/call/start", "{}")).status).toBe(422);
  expect((await post("/call/end", "{}")).status).toBe(501);
  expect((await post("/files/query_stats", '{"project_id":"a/b"}')).status).toBe(501);
  expect((await post("/obj/read", "{}")).status).toBe(404);
});

test("two interfaces are two servers in a chain", async () => {
  expect(() => createServer([handlers, health({})])).toThrow("groups of two interfaces need a server each");
  const training = createServer([health({ getHealth: () => Promise.reject(new Error("down")) })]);
  const send = toFetch(createServer([handlers], { fallback: training }));
  expect((await send(new Request("http://in-process/v1/health"))).status).toBe(500);
});

test("what cannot be served is an error when the server is created", () => {
  expect(() => createServer([])).toThrow("at least one group");
  expect(() => createServer([handlers, handlers])).toThrow("the group calls is there twice");
  expect(() => createServer([handlers], { validateResponses: true })).toThrow("createTracingServer");
});

test("types hold handlers to the spec", () => {
  // @ts-expect-error no such operation
  calls({ callBegin: () => ({}) });
  // @ts-expect-error the response needs a trace_id
  calls({ callStart: () => ({ id: "a" }) });
  // @ts-expect-error the caller of the handlers is not what authenticate returns
  createServer([handlers], { authenticate: () => ({ name: "ada" }) });
});

test("a fetch function has one parameter, whatever a runtime passes besides", async () => {
  const fetch = toFetch(createServer([handlers], { authenticate: () => ({ user: "ada" }) }));
  expectTypeOf(fetch).parameters.toEqualTypeOf<[Request]>();
  const called: (request: Request, server: object) => Promise<Response> = fetch;
  const request = new Request("http://in-process/call/start", { method: "POST", body: start });
  expect((await called(request, { method: "GET", body: null, headers: {}, port: 3000 })).status).toBe(200);
});
