import { FairShare } from "@heddle/concurrency";
import type { Caller } from "@heddle/control-plane";
import { ClientDisconnected, Problem } from "@heddle/server-stub";
import type { HttpRequest, HttpServer } from "@heddle/server-stub";
import { toFetch } from "@heddle/server-stub/fetch";
import { beforeEach, expect, test } from "vitest";
import { defaultLimits } from "../config/config.js";
import { openTurns } from "../limits/shares.js";
import { serveRoutes } from "./serve-routes.js";
import type { OpenedRoute } from "./serve-routes.js";

const next: HttpServer = async () => ({ status: 418, headers: {} });
const reader = { role: "read", entity: "acme", owner: false } as unknown as Caller;
const writer = { ...reader, role: "write" } as Caller;
const unexpected: unknown[] = [];
let thrown: unknown;
let seen: unknown;
beforeEach(() => {
  [thrown, seen] = [undefined, undefined];
  unexpected.length = 0;
});

const handle: OpenedRoute["handle"] = async ({ http, params, caller }) => {
  seen = { params, role: (caller as Caller | undefined)?.role };
  if (thrown !== undefined) throw thrown;
  return { status: 200, headers: { "content-type": "text/plain", "cache-control": "no-cache" }, body: http.method };
};
const common = { errors: "object", methods: ["GET", "PUT"] } as const;
const routes: OpenedRoute[] = [
  { route: { ...common, id: "open", paths: ["/open/{a}/x", "/open/{a}/x/"], access: "public" }, handle },
  { route: { ...common, id: "rest", paths: ["/rest/{b*}"], access: "signed", streamed: true }, handle },
  {
    route: {
      ...common,
      id: "keyed",
      paths: ["/keyed/{entity}/{project}"],
      access: { right: "write", project: "path" },
    },
    handle,
  },
];
const server = serveRoutes(
  routes,
  {
    turns: openTurns(defaultLimits),
    async authenticate(request) {
      const key = request.header("authorization");
      if (key === undefined) throw new Problem(401, "No API key");
      return key === "w" ? writer : reader;
    },
    onError(error) {
      if (error instanceof Problem) return error;
      if ((error as { code?: string }).code === "forbidden") return new Problem(403, "Forbidden");
      unexpected.push(error);
      return undefined;
    },
  },
  next,
);
const serve = toFetch(server);
const send = async (path: string, init: RequestInit = {}) => {
  const response = await serve(new Request(`http://x${path}`, init));
  return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
};

test("a path is one of a route's whatever its slashes, and its parameters are decoded after it was split", async () => {
  expect(await send("//open//a%2Fb/x?q=1")).toMatchObject({ status: 200, text: "GET" });
  expect(seen).toEqual({ params: { a: "a/b" }, role: undefined });
  expect((await send("/open/a/x/")).status).toBe(200);
  expect((await send("/rest/a%2Fb/c.d")).status).toBe(200);
  expect(seen).toEqual({ params: { b: "a%2Fb/c.d" }, role: undefined });
  for (const path of ["/open//x", "/open/a", "/open/a/x/y", "/openx/a/x", "/rest", "/other"])
    expect([path, (await send(path)).status]).toEqual([path, 418]);
  expect(await send("/open/%ff/x")).toMatchObject({ status: 400, text: expect.stringContaining("percent-encoding") });
});

test("another method is 405 with those that are possible, and HEAD has the headers of GET", async () => {
  const posted = await send("/open/a/x", { method: "POST" });
  expect([posted.status, posted.headers["allow"]]).toEqual([405, "GET, HEAD, PUT"]);
  expect(await send("/open/a/x", { method: "HEAD" })).toMatchObject({
    status: 200,
    text: "",
    headers: { "content-type": "text/plain" },
  });
});

test("the key and its right in the project of the path are checked before the handler", async () => {
  expect((await send("/keyed/acme/p")).status).toBe(401);
  const as = (key: string) => ({ headers: { authorization: key } });
  expect((await send("/keyed/acme/p", as("r"))).status).toBe(403);
  expect((await send("/keyed/other/p", as("w"))).status).toBe(403);
  expect((await send("/keyed/acme/%00", as("w"))).status).toBe(422);
  expect(seen).toBeUndefined();
  expect((await send("/keyed/acme/p", as("w"))).status).toBe(200);
});

test("every response tells browsers to do nothing with it, and a handler may say otherwise", async () => {
  const inert = { "x-content-type-options": "nosniff", "content-security-policy": expect.stringContaining("'none'") };
  expect((await send("/open/a/x")).headers).toMatchObject({ ...inert, "cache-control": "no-cache" });
  expect((await send("/keyed/acme/p")).headers).toMatchObject({ ...inert, "cache-control": "no-store" });
});

test("errors are in the form of the route; a client that has left is none", async () => {
  thrown = new Problem(503, "busy", { headers: { "retry-after": "1" } });
  expect(await send("/open/a/x")).toMatchObject({
    status: 503,
    text: '{"error":"busy"}',
    headers: { "retry-after": "1" },
  });
  thrown = new Error("secret");
  expect(await send("/open/a/x")).toMatchObject({ status: 500, text: '{"error":"Internal server error"}' });
  expect(unexpected).toEqual([thrown]);
  thrown = new ClientDisconnected("gone");
  expect((await send("/open/a/x")).status).toBe(400);
  expect(unexpected).toHaveLength(1);
  thrown = new Problem(403, "no");
  const put = { method: "PUT", target: "/rest/a", header: () => undefined } as unknown as HttpRequest;
  expect(await server(put)).toMatchObject({ drain: true, headers: { connection: "close" } });
});

test("a handler takes its turn once, whatever the access of its route, and gives it back when it fails", async () => {
  const turns = new FairShare({ capacity: 1, messages: { key: "key", entity: "entity", all: "all" } });
  const begun: string[] = [];
  const ends: Array<() => void> = [];
  const working: OpenedRoute["handle"] = async ({ turn, params }) => {
    await turn();
    await turn();
    begun.push(params["b"] ?? "");
    await new Promise<void>((resolve) => ends.push(resolve));
    throw new Problem(400, "failed");
  };
  const route = { ...common, id: "rest", paths: ["/rest/{b*}"], access: "signed" } as const;
  const options = { turns, authenticate: async () => reader, onError: (error: unknown) => error as Problem };
  const fetch = toFetch(serveRoutes([{ route, handle: working }], options, next));
  const [one, other] = ["one", "other"].map((name) => fetch(new Request(`http://in-process/rest/${name}`)));
  await expect.poll(() => begun).toEqual(["one"]);
  ends[0]?.();
  expect((await one)?.status).toBe(400);
  await expect.poll(() => begun).toEqual(["one", "other"]);
  ends[1]?.();
  expect((await other)?.status).toBe(400);
});
