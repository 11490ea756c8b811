import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runKeys } from "../src/cli/keys.js";
import { ConfigError } from "../src/config/config-error.js";
import { readConfig } from "../src/config/config.js";
import { startService } from "../src/boot/start.js";
import { finished, heddle as spawnHeddle } from "./faults/heddle-process.js";
import type { Child } from "./faults/heddle-process.js";

// `heddle` as an operator runs it: a process of its own, with its embedded engine, on an empty data directory.
const data = mkdtempSync(join(tmpdir(), "heddle-start-"));
afterAll(() => rmSync(data, { recursive: true, force: true }));

const heddle = (args: string[], env: Record<string, string> = {}): Child =>
  spawnHeddle(args, { HEDDLE_DATA_DIR: data, HEDDLE_PORT: "0", HEDDLE_OTLP_GRPC_PORT: "off", ...env });

/** Resolves with what was printed once the last line of the banner is there. */
async function ready(child: Child): Promise<string> {
  let out = "";
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      if (/open .*\/docs\n$/.test(out)) resolve(out);
    });
    child.stderr.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.once("exit", (code) => reject(new Error(`exit code ${code}: ${out}`)));
  });
}

async function shell(line: string): Promise<string> {
  const { out } = await finished(spawn("sh", ["-c", line], { stdio: ["ignore", "pipe", "pipe"] }));
  return out;
}

let service: Child;
let banner: string;
beforeAll(async () => {
  service = heddle([]);
  banner = await ready(service);
});
afterAll(() => {
  service.kill("SIGKILL");
});

test("the lines that a start prints work when pasted", async () => {
  const [send = "", read = "", docs = ""] = banner.split("\n").filter((line) => /^(curl|xdg-open|open) /.test(line));
  expect(JSON.parse(await shell(send))).toEqual({ res: [{ id: "hello", trace_id: "hello" }, {}] });
  expect(JSON.parse(await shell(read))).toMatchObject({ id: "hello", output: "hello world", project_id: "local/demo" });
  const url = docs.split(" ")[1] ?? "";
  expect((await fetch(url, { redirect: "manual" })).headers.get("location")).toBe("docs/");
});

test("a second start on the same data directory is one clear line and exit code 1", async () => {
  const { code, err } = await finished(heddle(["serve"]));
  expect(code).toBe(1);
  expect(err).toBe(
    `heddle: the data directory ${data} is in use by process ${service.pid}. Stop that one, or set HEDDLE_DATA_DIR.\n`,
  );
});

test("a port in use is one clear line", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  const address = taken.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const other = mkdtempSync(join(tmpdir(), "heddle-port-"));
  const config = readConfig({ HEDDLE_PORT: String(port), HEDDLE_OTLP_GRPC_PORT: "off", HEDDLE_DATA_DIR: other });
  await expect(startService(config, { writeLog: () => {} })).rejects.toThrow(
    new ConfigError(`port ${port} on 127.0.0.1 is in use. Set HEDDLE_PORT (0 picks a free one).`),
  );
  taken.close();
  rmSync(other, { recursive: true, force: true });
});

test("the port for gRPC: its default gives way to another program, a set one does not, and the banner names it", async () => {
  const other = mkdtempSync(join(tmpdir(), "heddle-grpc-"));
  const lines: string[] = [];
  const start = async (setting: string) => {
    const settings = { HEDDLE_PORT: "0", HEDDLE_DATA_DIR: other, HEDDLE_OTLP_GRPC_PORT: setting };
    const running = await startService(readConfig(settings), { writeLog: (line) => lines.push(line) });
    await running.close();
    return running.otlpGrpcUrl;
  };
  expect(await start("0")).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  // Another program may listen there already.
  const port = 4317;
  const taken = createServer()
    .on("error", () => undefined)
    .listen(port, "127.0.0.1");
  await delay(100);
  expect(await start("")).toBeUndefined();
  const reason = `port ${port} on 127.0.0.1 is in use. Set HEDDLE_OTLP_GRPC_PORT (0 picks a free one).`;
  expect(lines.join("")).toContain(`OpenTelemetry over gRPC is not served: ${reason}`);
  await expect(start(String(port))).rejects.toThrow(new ConfigError(reason));
  taken.close();
  rmSync(other, { recursive: true, force: true });
});

test("keys are made, listed and revoked beside the running service", async () => {
  const config = readConfig({ HEDDLE_DATA_DIR: data });
  const keys = async (...args: string[]) => {
    const lines: string[] = [];
    await runKeys(args, config, (line) => lines.push(line));
    return lines.join("\n");
  };
  const url = /listening on\s+(\S+)/.exec(banner)?.[1] ?? "";
  const created = await keys("create", "--user", "ann", "--entity", "team", "--role", "read", "--project", "p");
  const secret = /secret {2}(\S{40})/.exec(created)?.[1] ?? "";
  const id = /id {6}(\S+)/.exec(created)?.[1] ?? "";
  const read = async (projectId: string) => {
    const body = JSON.stringify({ project_id: projectId, id: "x" });
    return (await fetch(`${url}/call/read`, { method: "POST", body, headers: { authorization: `Bearer ${secret}` } }))
      .status;
  };
  expect([await read("team/p"), await read("team/q")]).toEqual([200, 403]);
  expect(await keys("list")).toMatch(/active .* ann .* read on team\/p/);
  const upload = connect(Number(new URL(url).port), "127.0.0.1").setEncoding("latin1");
  const response = once(upload, "data");
  upload.write(`POST /call/read HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${secret}\r\ncontent-length: 2\r\n\r\n{`);
  expect(await keys("revoke", id)).toMatch(/^revoked/);
  await expect.poll(() => read("team/p"), { timeout: 20_000 }).toBe(401);
  // The service ends requests in progress within two seconds.
  await delay(2500);
  upload.write("}");
  expect(String(await response)).toMatch(/^HTTP\/1\.1 401 [^]*The API key was revoked/);
  upload.destroy();
  await expect(keys("create")).rejects.toThrow("--user is needed");
  await expect(keys("revoke", "nothing")).rejects.toThrow(/nothing/);
});

test("SIGTERM stops it in good order, and the next start finds what was written", async () => {
  const stopped = finished(service);
  service.kill("SIGTERM");
  expect((await stopped).code).toBe(0);
  service = heddle([]);
  banner = await ready(service);
  const [, read = ""] = banner.split("\n").filter((line) => line.startsWith("curl "));
  expect(JSON.parse(await shell(read))).toMatchObject({ id: "hello" });
});
