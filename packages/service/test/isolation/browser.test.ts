import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operations } from "../spec-requests.js";
import { shareOf } from "../search-depth.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { emptyTenant, seededTenant, send } from "./tenants.js";
import type { Sent, Tenant } from "./tenants.js";

let service: TestService;
let own: Tenant;
beforeAll(async () => {
  service = await openTestService();
  own = await seededTenant(service, newProject());
});
afterAll(() => service.close());

const inert = new Set([
  "application/json",
  "application/jsonl",
  "application/octet-stream",
  "application/x-protobuf",
  "text/event-stream",
]);

/** A browser that opens this neither guesses a type, nor runs, frames or fetches anything, nor keeps it. */
function expectInert({ status, headers, text }: Sent): void {
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'");
  expect(headers.get("cache-control")).toMatch(/^no-store(?:, no-transform)?$/);
  const type = headers.get("content-type");
  if (text !== "") expect(inert).toContain(type);
  if (type === "application/octet-stream") expect(headers.get("content-disposition")).toMatch(/^attachment(?:;|$)/);
  expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
  for (const cookie of headers.getSetCookie()) expect(cookie).toMatch(/; HttpOnly; SameSite=Strict;/);
  expect(status).toBeLessThan(500);
}

describe("a browser can do nothing with a response but show or save it", () => {
  test.each(shareOf(operations, 4))("$id", async (operation) => {
    const missing = emptyTenant(newProject());
    const page = { params: { project_id: "<script>" }, body: "<script>" };
    const responses = await Promise.all([
      send(service, operation, own.request(operation), service.owner_key),
      send(service, operation, missing.request(operation), service.owner_key),
      send(service, operation, page, service.owner_key),
      send(service, operation, own.request(operation), undefined),
    ]);
    for (const response of responses) expectInert(response);
  });

  test("nor with one of a path or method that does not exist, or of a compatibility route", async () => {
    const routes: [string, string][] = [
      ["GET", "/"],
      ["GET", "/<script>"],
      ["DELETE", "/call/read"],
      ["OPTIONS", "/call/read"],
      ["GET", "/graphql"],
      ["POST", "/graphql"],
      ["GET", "/v1/<script>"],
    ];
    for (const [method, path] of routes) {
      const answer = await service.fetch(`http://in-process${path}`, { method });
      expectInert({ status: answer.status, headers: answer.headers, text: await answer.text() });
    }
  });
});

describe("nothing is asked of anybody but the engine, the stores and the providers that are configured", () => {
  const packages = fileURLToPath(new URL("../../../", import.meta.url));
  /** Names that a source line may import or call to reach another machine. */
  const outgoing =
    /\bfetch\(|\b(?:https?|http2)\.(?:request|get)\(|"(?:undici|axios|got|node-fetch|ws|node:(?:net|tls|dgram|http2|https|dns)(?:\/promises)?)"/;
  /** What may: the clients of the engine, of Postgres, of S3 and of providers, and the host that is the engine. */
  const allowed: Record<string, RegExp> = {
    // The one client for the servers of others, what checks the addresses it connects to, the one for replicas of this
    // service, and a command that reads an export. The others look at the form of an address, and listen.
    service:
      /^providers\/(?:outgoing|addresses)\.ts: import |^(?:replicas\/(?:forward|follower)|shards\/ask-store)\.ts: (?:import |const sent = http\.request)|^cli\/export\.ts: const response = await connection\.fetch|import \{ (?:BlockList, )?isIP(?:v6)? \} from "node:net"|^otlp\/.*import \{ constants(?:, createServer)? \} from "node:http2"/,
    // Listens.
    "server-stub": /import \{ Server\b.*"node:net"/,
    "blob-store": /"aws4fetch"|fetch\(signed,/,
    "control-plane": /"pg"/,
    "trace-store": /"@clickhouse\/client"/,
    "embedded-clickhouse": /node:(?:http|net)/,
  };
  const clients = /"(?:aws4fetch|pg|@clickhouse\/client)"/;

  test.each([
    "service",
    "trace-store",
    "trace-model",
    "control-plane",
    "blob-store",
    "embedded-clickhouse",
    "server-stub",
    "chat-format",
    "embedded-engine",
    "structured-outputs",
    "training",
  ])("%s", (name) => {
    const directory = join(packages, name, "src");
    const lines = readdirSync(directory, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
      .flatMap((file) =>
        readFileSync(join(directory, file), "utf8")
          .split("\n")
          .filter((line) => !/^\s*(?:\*|\/\/|\/\*|import type)/.test(line))
          .map((line) => `${file}: ${line.trim()}`),
      );
    expect(lines.length).toBeGreaterThan(50);
    const found = lines.filter((line) => outgoing.test(line) || clients.test(line));
    expect(found.filter((line) => !(allowed[name]?.test(line) ?? false))).toEqual([]);
  });
});
