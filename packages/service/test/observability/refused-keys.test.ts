import { setTimeout as delay } from "node:timers/promises";
import { toFetch } from "@heddle/server-stub/fetch";
import { listen } from "@heddle/server-stub/node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApp } from "../../src/boot/app.js";
import { signedPathOf } from "../../src/wandb/signed-urls.js";
import { openWorkingMemory } from "../../src/limits/shares.js";
import { withScope } from "../../src/limits/with-scope.js";
import { openLogger } from "../../src/observability/logger.js";
import { refusedKeyLog } from "../../src/observability/refused-keys.js";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

/** The service with a log of its own, at the level `info`. */
function logged(pauseMs: number) {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line), hide: (text: string) => text };
  const log = openLogger({ format: "json", level: "info" }, destination);
  const { limits } = service.services.config;
  const options = { memory: openWorkingMemory(limits), maxBytes: limits.maxResponseBytes };
  const app = withScope(createApp(service.services), { ...options, observers: [refusedKeyLog(log, pauseMs)] });
  return { app, lines, parsed: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

test("a request without a valid key is logged with its address, route and reason, and nothing of the key", async () => {
  const { app, lines, parsed } = logged(0);
  const { control } = service.services;
  const { key, secret } = await control.keys.create({ user_name: "ann", entity: "acme", role: "read" });
  const file = { kind: "file", project_id: "acme/p", version_id: "v", path: "a" } as const;
  const signed = (now?: number) => signedPathOf(control.urlSignatures, key.id, file, now);
  await control.keys.revoke(key.id);
  const listening = await listen(app);
  const unknown = "UNKNOWNKEY".repeat(4);
  try {
    const requests: [path: string, init: RequestInit][] = [
      ["/call/read", { method: "POST", headers: { "x-request-id": "one" } }],
      ["/call/read", { method: "POST", headers: { authorization: `Bearer ${unknown}` } }],
      ["/graphql", { method: "POST", headers: { authorization: `Basic ${btoa(`api:${secret}`)}` } }],
      ["/v1/system-check", { headers: { "wandb-api-key": secret } }],
      [signed(), {}],
      [signed(0), {}],
      ["/wandb-files/a.b.c", {}],
    ];
    for (const [path, init] of requests) {
      await (await fetch(listening.url + path, init)).text();
      await delay(20);
    }
    await fetch(`${listening.url}/call/read`, { headers: { authorization: `Bearer ${service.owner_key}` } });
    await fetch(`${listening.url}/health`);
  } finally {
    await listening.close(0);
  }
  const common = { level: "info", msg: "request without a valid API key", remote_address: "127.0.0.1" };
  const revoked = { ...common, reason: "revoked", key_id: key.id };
  expect(parsed()).toMatchObject([
    { ...common, reason: "missing", operation: "callRead", request_id: "one" },
    { ...common, reason: "unknown", operation: "callRead" },
    { ...revoked, operation: "graphql" },
    { ...revoked, operation: "getSystemCheck" },
    { ...revoked, operation: "signedUrl" },
    { ...common, reason: "expired", key_id: key.id, operation: "signedUrl" },
    { ...common, reason: "unknown", operation: "signedUrl" },
  ]);
  for (const hidden of [secret.slice(0, 6), unknown.slice(0, 6), btoa(`api:${secret}`)])
    expect(lines.join("")).not.toContain(hidden);
});

test("of many, the log has a line at a time with the number of those without one", async () => {
  const pauseMs = 300;
  const { app, lines, parsed } = logged(pauseMs);
  const fetch = toFetch(app);
  const began = performance.now();
  const requests = 300;
  for (let sent = 0; sent < requests; sent++) await fetch(new Request("http://in-process/metrics-of/none"));
  expect(lines).toEqual([]);
  for (let sent = 0; sent < requests; sent++) await fetch(new Request("http://in-process/graphql", { method: "POST" }));
  await delay(pauseMs * 1.5);
  expect(lines.length).toBeLessThanOrEqual((performance.now() - began) / pauseMs + 1);
  const leftOut = parsed().map((line) => Number(line["left_out"] ?? 0));
  expect(leftOut.reduce((sum, count) => sum + count, lines.length)).toBe(requests);
  await delay(pauseMs * 1.5);
  const before = lines.length;
  await fetch(new Request("http://in-process/graphql", { method: "POST" }));
  expect(lines).toHaveLength(before + 1);
});
