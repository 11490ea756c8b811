import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toFetch } from "@heddle/server-stub/fetch";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createApp } from "../src/boot/app.js";
import { withScope } from "../src/limits/with-scope.js";
import { openWorkingMemory } from "../src/limits/shares.js";
import { openMetrics } from "../src/observability/metrics.js";
import { routes } from "../src/boot/routes.js";
import { operations } from "./spec-requests.js";
import { openTestService } from "./test-service.js";
import type { TestService } from "./test-service.js";

const path = join(import.meta.dirname, "../../docs/guides/operating.md");
const [begin, end] = ["<!-- open paths -->\n", "<!-- end of open paths -->"];

/** What the routes beside the spec give to everybody. */
const ofRoutes: Readonly<Record<string, string>> = {
  home: "leads to the console",
  live: "tells that the process runs, also while it waits for its stores",
  docs: "the documentation",
  packages: "packages for programs that use the service, as `npm install` takes them",
  console: "the console, which shows data with a key alone",
  weaveLinks: "links that the SDKs of Weave print: leads into the console",
  adapter: "adapters of checkpoints for inference servers, by addresses that are signed and end within twenty minutes",
  wandbLinks: "links that the client of W&B prints: leads a browser into the console",
  signedUrl: "files of artifacts, by URLs that are signed in the name of a key and end with it",
};

interface OpenPath {
  id: string;
  methods: readonly string[];
  paths: readonly string[];
  gives: string;
}

const openPaths: OpenPath[] = [
  ...operations
    .filter((operation) => operation.public)
    .map(({ id, method, path: first, aliases, summary }) => ({
      id,
      methods: [method.toUpperCase()],
      paths: [first, ...aliases],
      gives: `${summary.charAt(0).toLowerCase()}${summary.slice(1)}`,
    })),
  ...Object.values(routes).flatMap(({ id, methods, paths, access }) =>
    typeof access === "object" ? [] : [{ id, methods, paths, gives: ofRoutes[id] ?? expect.unreachable(id) }],
  ),
];

let service: TestService;
let directory: string;
let fetch: ReturnType<typeof toFetch>;
beforeAll(async () => {
  service = await openTestService();
  directory = mkdtempSync(join(tmpdir(), "heddle-docs-"));
  writeFileSync(join(directory, "index.html"), "");
  const { limits } = service.services.config;
  const app = createApp(service.services, { docsDir: directory, consoleDir: directory, metrics: openMetrics("1") });
  fetch = toFetch(withScope(app, { memory: openWorkingMemory(limits), maxBytes: limits.maxResponseBytes }));
});
afterAll(async () => {
  await service.close();
  rmSync(directory, { recursive: true });
});

test("the guide lists every path that needs no key: run with -u to write it", async () => {
  const guide = readFileSync(path, "utf8");
  const [from, to] = [guide.indexOf(begin) + begin.length, guide.indexOf(end)];
  expect(to).toBeGreaterThanOrEqual(from);
  const rows = openPaths.map(({ methods, paths, gives }) => {
    const cell = paths.map((each) => `\`${each.replaceAll("*}", "}")}\``).join(", ");
    return `| ${methods.join(", ")} ${cell} | ${gives} |`;
  });
  const table = ["| Path | What it is for |", "| --- | --- |", ...rows].join("\n");
  await expect(`${guide.slice(0, from)}\n${table}\n\n${guide.slice(to)}`).toMatchFileSnapshot(path);
});

test.each(openPaths)("$id needs no key, as the list says", async ({ methods, paths }) => {
  for (const method of methods) {
    for (const each of paths) {
      const target = each.replaceAll(/\{\w+\*?\}/g, "");
      const { status } = await fetch(new Request(`http://in-process${target}`, { method }));
      expect(status, `${method} ${target}`).not.toBe(401);
    }
  }
});

describe("what is not in the list needs a key", () => {
  const closed = [
    ...operations
      .filter((operation) => !operation.public)
      .map(({ id, method, path: each }) => ({ id, method: method.toUpperCase(), each })),
    ...Object.values(routes).flatMap(({ id, methods, paths, access }) =>
      typeof access === "object" ? methods.map((method) => ({ id, method, each: paths[0] })) : [],
    ),
  ];
  test.each(closed)("$id", async ({ method, each }) => {
    const target = each.replaceAll(/\{\w+\*?\}/g, "x");
    expect((await fetch(new Request(`http://in-process${target}`, { method }))).status).toBe(401);
  });
});

test("what was lost and why a part fails is shown only with a key, and that it is so also without", async () => {
  service.services.losses.report("blobs", "A file is lost");
  const blobs = async (headers: Record<string, string> = {}) => {
    const response = await fetch(new Request("http://in-process/v1/system-check", { headers }));
    return ((await response.json()) as { parts: { blobs: unknown } }).parts.blobs;
  };
  const reader = await service.key({ role: "read", projects: ["p"] });
  const lost = { status: "degraded", lost: ["A file is lost"] };
  await expect.poll(() => blobs({ authorization: `Bearer ${reader}` }), { timeout: 10_000 }).toMatchObject(lost);
  expect(await blobs({ authorization: `Bearer ${service.owner_key}` })).toMatchObject(lost);
  expect(await blobs()).toMatchObject({ status: "degraded", lost: [] });
  expect(await blobs({ authorization: "Bearer unknown" })).toMatchObject({ status: "degraded", lost: [] });
  const check = vi.spyOn(service.services.blobs, "check").mockRejectedValue(new Error("disk-7 does not respond"));
  try {
    const failed = { status: "failed", error: "disk-7 does not respond" };
    const owner = { authorization: `Bearer ${service.owner_key}` };
    await expect.poll(() => blobs(owner), { timeout: 10_000, interval: 200 }).toMatchObject(failed);
    expect(await blobs()).toMatchObject({
      status: "failed",
      error: "the reason is shown to requests with an API key",
    });
  } finally {
    check.mockRestore();
  }
});
