import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { flush, init, trace } from "@heddle/client/trace";
import { startServer } from "../http-server.js";
import { startTraceServer } from "./trace-server.js";

const run = promisify(execFile);
/** Nothing listens there. */
const nowhere = "http://127.0.0.1:9";

/** Runs a program with the package, from source. */
async function runProgram(program: string, baseUrl: string) {
  const args = ["--import", "tsx", "-C", "@heddle/source", "--input-type=module", "-e", program];
  const env = { ...process.env, HEDDLE_URL: baseUrl, HEDDLE_PROJECT: "acme/exit", HEDDLE_API_KEY: "k" };
  return run(process.execPath, args, { cwd: join(import.meta.dirname, "../.."), env });
}

test("a process that ends by itself has sent its calls", async () => {
  const { baseUrl, named } = await startTraceServer();
  const program = `import { trace } from "@heddle/client/trace"; console.log(trace("last", () => 42)());`;
  expect(await runProgram(program, baseUrl)).toEqual({ stdout: "42\n", stderr: "" });
  expect(named("last")).toMatchObject({ output: 42, project_id: "acme/exit" });
});

test("a process ends without a service, and says once that its calls are lost", async () => {
  const program = `import { flush, trace } from "@heddle/client/trace"; const f = trace("lost", () => 42); f();
    console.log(await flush(1), f());`;
  const { stdout, stderr } = await runProgram(program, nowhere);
  expect(stdout).toBe("false 42\n");
  expect(stderr.match(/no service at/g)).toHaveLength(1);
  expect(stderr).toMatch(/the process ends, 4 records of calls were not sent/);
});

test("a full queue refuses calls, keeps those that it has, and says so once", async () => {
  const log: string[] = [];
  init({ baseUrl: nowhere, project: "acme/full", log: (message) => log.push(message) });
  const large = trace("large", (text: string) => text.length);
  // A million bytes each.
  const texts = ["x".repeat(1_000_000), "ü".repeat(500_000)];
  for (let index = 0; index < 40; index += 1) expect(large(texts[index % 2]!)).toBeGreaterThan(0);
  expect(await flush(1)).toBe(false);
  expect(log.filter((message) => message.includes("are dropped"))).toHaveLength(1);
  const { baseUrl, all } = await startTraceServer();
  init({ baseUrl, project: "acme/full", log: (message) => log.push(message) });
  expect(await flush(30_000)).toBe(true);
  expect(all()).toHaveLength(15);
  for (const { ended_at } of all()) expect(ended_at).toBeDefined();
  expect(log.at(-1)).toBe("Heddle: 25 records of calls were dropped.");
});

test("a service that never answers does not hold up the function", async () => {
  const { baseUrl } = await startServer(() => undefined);
  init({ baseUrl, project: "acme/slow", log: () => undefined });
  expect(trace("slow", () => 1)()).toBe(1);
  expect(await flush(1)).toBe(false);
  expect(trace("slow", () => 2)()).toBe(2);
});
