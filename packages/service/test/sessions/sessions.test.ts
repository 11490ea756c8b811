import { createTracingClient } from "@heddle/client/tracing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { host, logIn, samePage, sessionOf, withSession } from "./browser.js";
import type { Halves } from "./browser.js";

const publicUrl = "https://heddle.example.com/below";
let service: TestService;
beforeAll(async () => {
  service = await openTestService({
    HEDDLE_PUBLIC_URL: `${publicUrl}, http://heddle.lan:8080`,
    HEDDLE_CORS_ORIGINS: "https://app.example.com",
  });
});
afterAll(() => service.close());

const get = async (path: string, headers: Record<string, string>) =>
  await service.fetch(`http://in-process${path}`, { headers });
const post = async (path: string, headers: Record<string, string>, body: object = {}) =>
  await service.fetch(`http://in-process${path}`, { method: "POST", headers, body: JSON.stringify(body) });
const statusOf = async (halves: Halves) => (await get("/me", withSession(halves))).status;

test("a browser logs in with a key and has its rights, until it logs out", async () => {
  const key = await service.key({ role: "read", projects: ["p"] });
  const response = await logIn(service, { api_key: key });
  expect(response.status).toBe(200);
  expect(response.headers.get("cache-control")).toBe("no-store, no-transform");
  const cookie = response.headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(/^heddle_session_4680=[A-Za-z0-9]{40}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=2592000$/);
  const { token, me } = (await response.json()) as {
    token: string;
    me: { role: string; session: { expires_at: string } };
  };
  const days = (Date.parse(me.session.expires_at) - Date.now()) / 86_400_000;
  expect(days).toBeCloseTo(7, 2);
  const halves = { token, cookie: cookie.split(";")[0] ?? "" };
  expect(await (await get("/me", withSession(halves))).json()).toMatchObject({
    role: "read",
    projects: ["p"],
    session: {},
  });
  const stats = await post("/project/stats", withSession(halves), { project_id: "acme/other" });
  expect(stats.status).toBe(403);
  const end = await service.fetch("http://in-process/sessions/current", {
    method: "DELETE",
    headers: withSession(halves),
  });
  expect(await end.json()).toEqual({ ended: 1 });
  expect(end.headers.get("set-cookie")).toContain("Max-Age=0");
  expect(await statusOf(halves)).toBe(401);
  expect((await get("/me", { authorization: `Bearer ${key}` })).status).toBe(200);
});

test("logging out everywhere ends the sessions of the key, and no others", async () => {
  const [key, other] = [await service.key({ role: "read" }), await service.key({ role: "read" })];
  const mine = [await sessionOf(service, key), await sessionOf(service, key)];
  const kept = await sessionOf(service, other);
  const { code } = await service.tracing(key).sessionCodeCreate();
  expect(await service.tracing(key).sessionEnd()).toEqual({ ended: 0 });
  expect(await service.tracing(key).sessionsEnd()).toEqual({ ended: 2 });
  expect(await Promise.all([...mine, kept].map(statusOf))).toEqual([401, 401, 200]);
  expect((await logIn(service, { code })).status).toBe(401);
});

test("a session ends with its key", async () => {
  const { keys } = service.services.control;
  const { key, secret } = await keys.create({ user_name: "ann", entity: "acme", role: "write" });
  const halves = await sessionOf(service, secret);
  expect(await statusOf(halves)).toBe(200);
  await keys.revoke(key.id);
  expect(await statusOf(halves)).toBe(401);
  expect((await logIn(service, { api_key: secret })).status).toBe(401);
});

describe("a code", () => {
  test("works once, however many use it at the same time", async () => {
    const { code, expires_at } = await service.tracing(await service.key({ role: "read" })).sessionCodeCreate();
    expect((Date.parse(expires_at) - Date.now()) / 60_000).toBeCloseTo(10, 1);
    const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await logIn(service, { code })).status));
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401, 401]);
  });

  test("is not made by a session, which would outlive itself by it", async () => {
    const halves = await sessionOf(service, await service.key({ role: "admin" }));
    expect((await post("/sessions/codes", withSession(halves))).status).toBe(403);
  });

  test("and a key together are refused, and neither of them", async () => {
    const { code } = await service.tracing().sessionCodeCreate();
    for (const body of [{}, { code, api_key: service.owner_key }])
      expect((await logIn(service, body)).status).toBe(422);
    expect((await logIn(service, { code })).status).toBe(200);
  });
});

test("a session makes and revokes keys only with the key itself", async () => {
  const key = await service.key({ role: "admin" });
  const halves = await sessionOf(service, key);
  const request = { user: "x", role: "read" };
  const other = await service.key({ role: "admin" });
  for (const confirmation of [{}, { confirm_api_key: other }, { confirm_api_key: "x" }])
    expect((await post("/keys", withSession(halves), { ...request, ...confirmation })).status).toBe(403);
  const created = await post("/keys", withSession(halves), { ...request, confirm_api_key: key });
  expect(created.status).toBe(200);
  const { id } = ((await created.json()) as { key: { id: string } }).key;
  expect((await post(`/keys/${id}/revoke`, withSession(halves))).status).toBe(403);
  expect((await post(`/keys/${id}/revoke`, withSession(halves), { confirm_api_key: key })).status).toBe(200);
});

test("below https the cookie is bound to the host and sent by https only", async () => {
  const headers = {
    host: "heddle.example.com",
    origin: "https://heddle.example.com",
    "sec-fetch-site": "same-origin",
  };
  const response = await logIn(service, { api_key: service.owner_key }, headers);
  expect(response.headers.get("set-cookie")).toMatch(/^__Host-heddle_session=\w+; Path=\/; HttpOnly; .*; Secure$/);
  const halves = await sessionOf(service, service.owner_key, headers);
  const me = { ...headers, "x-heddle-session": halves.token, cookie: halves.cookie };
  expect((await get("/me", me)).status).toBe(200);
  expect((await get("/me", { ...me, origin: "http://heddle.example.com" })).status).toBe(403);
  const renamed = halves.cookie.replace("__Host-heddle_session", "heddle_session_80");
  expect((await get("/me", { ...me, cookie: renamed })).status).toBe(401);
  expect((await get("/me", { ...me, cookie: `__Host-heddle_session=other; ${halves.cookie}` })).status).toBe(200);
});

test.each([
  "127.0.0.1:4680",
  "192.168.1.7",
  "[::1]:80",
  "localhost:4680",
  "my.localhost",
  "heddle.lan:8080",
  "HEDDLE.example.com",
])("browsers log in under %s", async (name) => {
  expect((await logIn(service, { api_key: service.owner_key }, { host: name })).status).toBe(200);
});

test.each([
  "evil.example",
  "heddle.example.com.evil.example",
  "127.0.0.1.evil.example",
  "localhost.evil.example",
  "1.2.3",
])("and not under %s, unless the setting names it", async (name) => {
  const response = await logIn(service, { api_key: service.owner_key }, { host: name });
  expect(response.status).toBe(421);
  expect(await response.text()).toContain("HEDDLE_PUBLIC_URL");
});

test.each(["//sessions", "/%73essions", "/traces/sessions", "/%74races//sess%69ons"])(
  "nor by %s, which is the same path",
  async (path) => {
    const init = {
      method: "POST",
      body: JSON.stringify({ api_key: service.owner_key }),
      headers: { host: "evil.example" },
    };
    expect((await service.fetch(`http://in-process${path}`, init)).status).toBe(421);
    const page = { ...samePage, origin: "null" };
    expect((await service.fetch(`http://in-process${path}`, { ...init, headers: page })).status).toBe(403);
    expect((await service.fetch(`http://in-process${path}`, { ...init, headers: samePage })).status).toBe(200);
  },
);

test("programs use keys under any name", async () => {
  const headers = { host: "evil.example", authorization: `Bearer ${service.owner_key}` };
  expect((await get("/me", headers)).status).toBe(200);
});

test("origins that may use the service with a key may use no session", async () => {
  const halves = await sessionOf(service, service.owner_key);
  const page = { host, origin: "https://app.example.com", "sec-fetch-site": "cross-site" };
  expect((await get("/me", { ...page, authorization: `Bearer ${service.owner_key}` })).status).toBe(200);
  expect((await get("/me", { ...withSession(halves), ...page })).status).toBe(403);
  expect((await logIn(service, { api_key: service.owner_key }, page)).status).toBe(403);
});

test("browsers get no challenge that opens a dialog of theirs, programs do", async () => {
  const challenge = async (headers: Record<string, string>) =>
    (await get("/me", headers)).headers.get("www-authenticate");
  expect(await challenge({})).toMatch(/^Basic/);
  expect(await challenge({ "sec-fetch-mode": "cors" })).toBe("Bearer");
  expect(await challenge({ "x-heddle-session": "none" })).toBe("Bearer");
});

test("a thousand wrong log-ins get ten responses about the key, and the rest has to wait", async () => {
  const guarded = await openTestService();
  const wrong = async (attempt: number) => {
    const body = attempt % 2 === 0 ? { api_key: `${attempt}`.padEnd(40, "x") } : { code: `${attempt}`.padEnd(40, "x") };
    const response = await logIn(guarded, body);
    return { status: response.status, retryAfter: response.headers.get("retry-after"), text: await response.text() };
  };
  try {
    expect((await logIn(guarded, { api_key: guarded.owner_key })).status).toBe(200);
    const responses = await Promise.all(Array.from({ length: 1000 }, async (_, attempt) => await wrong(attempt)));
    const told = responses.filter(({ status }) => status === 401);
    expect(told).toHaveLength(10);
    expect(new Set(told.map(({ text }) => text)).size).toBe(1);
    const waiting = responses.filter(({ status }) => status === 429);
    expect(waiting).toHaveLength(990);
    expect(Number(waiting[0]?.retryAfter)).toBeGreaterThan(50);
    expect((await logIn(guarded, { api_key: guarded.owner_key })).status).toBe(429);
    expect(await guarded.tracing().meRead()).toMatchObject({ owner: true });
  } finally {
    await guarded.close();
  }
});

test("behind a proxy, wrong log-ins of one client do not keep the others from logging in", async () => {
  const guarded = await openTestService();
  try {
    const baseUrl = await guarded.listen();
    const logInFrom = async (client: string, key: string) => {
      const headers = { "x-forwarded-for": `198.51.100.1, ${client}` };
      const init = { method: "POST", headers, body: JSON.stringify({ api_key: key }) };
      return (await fetch(`${baseUrl}/sessions`, init)).status;
    };
    for (let attempt = 0; attempt < 10; attempt++) {
      expect(await logInFrom("203.0.113.9", "x".repeat(40))).toBe(401);
    }
    expect(await logInFrom("203.0.113.9", guarded.owner_key)).toBe(429);
    expect(await logInFrom("203.0.113.10", guarded.owner_key)).toBe(200);
  } finally {
    await guarded.close();
  }
});

test("the client sends the token of a session, over a socket, with the cookie that the browser has", async () => {
  const baseUrl = await service.listen();
  const key = await service.key({ role: "read" });
  const login = await fetch(`${baseUrl}/sessions`, { method: "POST", body: JSON.stringify({ api_key: key }) });
  const { token } = (await login.json()) as { token: string };
  const [cookie] = login.headers.getSetCookie();
  const withCookie = { cookie: cookie?.split(";")[0] ?? "" };
  const client = createTracingClient({ baseUrl, session: token, headers: withCookie, retries: 0 });
  expect(await client.meRead()).toMatchObject({ role: "read", session: { expires_at: expect.any(String) } });
  const alone = createTracingClient({ baseUrl, session: token, retries: 0 });
  await expect(alone.meRead()).rejects.toMatchObject({ status: 401 });
  expect(samePage.host).toBe(host);
});
