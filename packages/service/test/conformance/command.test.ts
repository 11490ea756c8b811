import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConformanceReport } from "@heddle/conformance";
import { Problem, rawJson } from "@heddle/server-stub";
import { listen } from "@heddle/server-stub/node";
import { createTracingServer } from "@heddle/server-stub/tracing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { conformanceCommand } from "../../src/cli/conformance.js";
import { startMock } from "../../src/cli/mock.js";

// A server as somebody builds one from the stub, with three operations of its own.

const key = "k".repeat(40);
const directory = mkdtempSync(join(tmpdir(), "heddle-conformance-"));
let running: Awaited<ReturnType<typeof listen>>;
let isHealthy = true;
beforeAll(async () => {
  const server = createTracingServer(
    {
      service: {
        readRoot: () => (isHealthy ? { status: "ok" } : ({ status: 1 } as never)),
        readVersion: () => ({ version: "1.0.0" }),
      },
      refs: { refsReadBatch: ({ body }) => ({ vals: body.refs.map(() => rawJson("null")) }) },
    },
    {
      authenticate({ secret }) {
        if (secret !== key) throw new Problem(401, "unknown key");
      },
    },
  );
  running = await listen(server);
});
afterAll(async () => {
  await running.close(0);
  rmSync(directory, { recursive: true, force: true });
});

/** What the command printed, and the error that it ended with. */
async function conformance(...args: string[]): Promise<{ output: string; log: string[]; error?: Error }> {
  const [lines, log]: string[][] = [[], []];
  const out = { print: (line: string) => void lines?.push(line), log: (line: string) => void log?.push(line) };
  try {
    await conformanceCommand(args, { HEDDLE_API_KEY: key }, out);
    return { output: lines?.join("\n") ?? "", log: log ?? [] };
  } catch (error) {
    return { output: lines?.join("\n") ?? "", log: log ?? [], error: error as Error };
  }
}

test("a server with a few operations passes, and those it does not have are listed", async () => {
  const json = join(directory, "report.json");
  const junit = join(directory, "report.xml");
  const { output, log, error } = await conformance(running.url, "--only", "tracing", "--json", json, "--junit", junit);
  expect(error).toBeUndefined();
  expect(output).toMatch(/^readRoot +\d+ +0$/m);
  expect(output).toMatch(/^callStart +not implemented$/m);
  expect(output).toMatch(/Not implemented \(501\): projectDelete, callEnd, .*tableCreate/);
  expect(log[0]).toMatch(/^filling projects for \d+ operations$/);
  const report = JSON.parse(readFileSync(json, "utf8")) as ConformanceReport;
  expect(report.summary).toMatchObject({ passed: 3, failed: 0, not_implemented: report.operations.length - 3 });
  const xml = readFileSync(junit, "utf8");
  expect(xml).toContain('<testcase classname="tracing.readRoot" name="example"');
  expect(xml.match(/<skipped message="not implemented/g)).toHaveLength(report.summary.not_implemented);
});

test("--require-all counts operations that are not implemented as failures", async () => {
  const { error } = await conformance(running.url, "--require-all", "--only", "readRoot", "--only", "files");
  expect(error?.message).toMatch(/^3 operations are not implemented/);
  expect((await conformance(running.url, "--require-all", "--only", "readRoot")).error).toBeUndefined();
});

test("a failure is printed with the request, the response and what was expected", async () => {
  isHealthy = false;
  const { output, error } = await conformance(running.url, "--only", "service");
  isHealthy = true;
  expect(error?.message).toBe("1 operations do not conform to the specification");
  expect(output).toContain("readRoot (GET /health), without a key");
  expect(output).toMatch(/found +in the body: \/status must be/);
  expect(output).toMatch(/expected +a body that fits /);
  expect(output).toMatch(/request +GET \/health/);
  expect(output).toContain('{"status":1}');
  expect(output).not.toContain(key);
});

test("what cannot be judged is said before anything is tried", async () => {
  const errors = await Promise.all(
    [
      ["ftp://example.com"],
      [running.url, "--only", "noSuchOperation"],
      [running.url, "--timeout", "0"],
      [running.url, "--colour"],
      [running.url, "--api-key", "w".repeat(40)],
      ["http://127.0.0.1:1"],
    ].map(async (args) => (await conformance(...args)).error),
  );
  expect(errors.map((error) => [error?.name, error?.message.replace(/\d{5}/, "…")])).toMatchInlineSnapshot(`
    [
      [
        "UsageError",
        "one address of a server is needed, as http://127.0.0.1:4680",
      ],
      [
        "UsageError",
        ""noSuchOperation" is not an operation, group or interface",
      ],
      [
        "UsageError",
        "--timeout must be whole seconds from 1 to 3600, not "0"",
      ],
      [
        "UsageError",
        "Unknown option '--colour'. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- "--colour"",
      ],
      [
        "UsageError",
        "http://127.0.0.1:… refuses the API key",
      ],
      [
        "UsageError",
        "http://127.0.0.1:1: no complete response to POST /call/end: fetch failed: bad port",
      ],
    ]
  `);
});

test("heddle mock says what it is, and serves examples", async () => {
  const lines: string[] = [];
  const mock = await startMock(["--port", "0"], (line) => lines.push(line));
  try {
    expect(lines.join("\n")).toMatch(
      /^Mock of the Heddle interfaces on http:\/\/127\.0\.0\.1:\d+\n\d+ operations respond/,
    );
    const response = await fetch(`${mock.url}/v1/health`, { headers: { origin: "https://app.example.com" } });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
  } finally {
    await mock.close(0);
  }
  await expect(startMock(["--port", "no"], () => {})).rejects.toThrow(
    '--port must be a number from 0 to 65535, not "no"',
  );
});
