import { toFetch } from "@heddle/server-stub/fetch";
import type { HttpRequest, HttpServer } from "@heddle/server-stub";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestService } from "../../test/test-service.js";
import type { TestService } from "../../test/test-service.js";
import { authenticate } from "../access/authenticate.js";
import { openTurns } from "../limits/shares.js";
import { problemOf } from "../http/problems.js";
import { openRoutes, serveRoutes } from "../http/serve-routes.js";
import { metricsRoute } from "./metrics-route.js";
import { openMetrics } from "./metrics.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

const next: HttpServer = async () => ({ status: 418, headers: {} });

test("metrics of the service's own port are for admin keys that no project limits", async () => {
  const { services } = service;
  const routes = openRoutes([metricsRoute], { metrics: openMetrics("1.2.3") });
  const authenticateKey = (request: HttpRequest) => authenticate(services, request);
  const turns = openTurns(services.config.limits);
  const send = toFetch(serveRoutes(routes, { authenticate: authenticateKey, onError: problemOf, turns }, next));
  const get = async (secret: string | undefined, init: RequestInit = {}, path = "/metrics") => {
    const headers = new Headers(secret === undefined ? {} : { authorization: `Bearer ${secret}` });
    return await send(new Request(`http://in-process${path}`, { ...init, headers }));
  };
  const statusOf = async (secret?: string) => (await get(secret)).status;
  const text = await (await get(service.owner_key)).text();
  expect(text).toMatch(/^heddle_build_info\{version="1\.2\.3"\} 1$/m);
  expect(text).toMatch(/^# TYPE heddle_http_request_duration_seconds histogram$/m);
  expect(await statusOf(await service.key({ role: "admin" }))).toBe(200);
  expect(await statusOf(await service.key({ role: "admin", projects: ["p"] }))).toBe(403);
  expect(await statusOf(await service.key({ role: "write" }))).toBe(403);
  expect(await statusOf("k".repeat(40))).toBe(401);
  const unknown = await get(undefined);
  expect([unknown.status, unknown.headers.get("www-authenticate")]).toEqual([401, 'Basic realm="heddle"']);
  const posted = await get(service.owner_key, { method: "POST" });
  expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  const head = await get(service.owner_key, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  expect((await get(service.owner_key, {}, "/metrics/x")).status).toBe(418);
});
