import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTracingClient } from "@heddle/client";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { agentTools } from "../src/generated/agent-tools.js";
import { finished, heddle, openHeddle, ownerKey } from "./faults/heddle-process.js";
import type { HeddleProcess } from "./faults/heddle-process.js";

// Each command is a process of its own; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const directory = mkdtempSync(join(tmpdir(), "heddle-agents-"));
const big = "107505301260286111";
const projectId = "local/shop";
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
let service: HeddleProcess;
let digest: string;
const open: Client[] = [];

beforeAll(async () => {
  service = await openHeddle();
  const tracing = createTracingClient({ baseUrl: service.url, apiKey: ownerKey });
  digest = (await tracing.fileCreate({ project_id: projectId, file: new Blob([Buffer.from(pixel, "base64")]) })).digest;
  const start = (id: string, inputs: string) =>
    `{"mode":"start","req":{"start":{"project_id":"${projectId}","id":"${id}","trace_id":"t1","op_name":"answer",
      "started_at":"2026-03-01T09:00:00Z","attributes":{},"inputs":${inputs}}}}`;
  const batch = [start("first", `{"n": ${big}, "price": 1.0}`), start("second", `{"text": "${"ü".repeat(3000)}"}`)];
  const response = await fetch(`${service.url}/call/upsert_batch`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`api:${ownerKey}`)}`, "content-type": "application/json" },
    body: `{"batch":[${batch.join(",")}]}`,
  });
  expect(response.status).toBe(200);
});
afterAll(async () => {
  for (const client of open) await client.close();
  await service.remove();
  rmSync(directory, { recursive: true, force: true });
});

/** The command as the host of an agent starts it, and the official client. */
async function connect(args: string[] = [], env: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const main = join(inject("compiled"), "@heddle/service/dist/main.js");
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [main, "mcp", ...args],
    env: { HEDDLE_URL: service.url, HEDDLE_API_KEY: ownerKey, HOME: directory, ...env },
    stderr: "inherit",
  });
  await client.connect(transport);
  open.push(client);
  return client;
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const texts = content.map((part) => (part.type === "text" ? part.text : ""));
  return { content, isError, text: texts.join("\n") };
}

test("an agent lists the operations that read, each with what it takes", async () => {
  const client = await connect();
  const { tools } = await client.listTools();
  expect(client.getServerVersion()?.name).toBe("heddle");
  expect(client.getInstructions()).toContain("projectsQuery");
  expect(tools.map(({ name }) => name)).toEqual(agentTools.map(({ name }) => name));
  expect(tools.find(({ name }) => name === "callRead")).toMatchObject({
    title: "Read a call",
    description: expect.stringContaining("Reads one call by its id") as string,
    annotations: { readOnlyHint: true, destructiveHint: false },
    inputSchema: { type: "object", required: ["project_id", "id"], properties: { id: { type: "string" } } },
  });
  expect(new Set(tools.map(({ annotations }) => annotations?.readOnlyHint))).toEqual(new Set([true]));
});

test("calls, traces, models and files are read, numbers with every digit", async () => {
  const client = await connect();
  const read = await call(client, "callRead", { project_id: projectId, id: "first" });
  expect(read.text).toContain(`"inputs":{"n": ${big}, "price": 1.0}`);
  expect(JSON.parse(read.text)).toMatchObject({ call: { id: "first", op_name: "answer" } });
  const stream = await call(client, "callsQueryStream", { project_id: projectId, columns: ["id"] });
  expect(stream.text.split("\n").map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(["first", "second"]);
  expect((await call(client, "listBaseModels")).text).toContain("heddle/starter");
  expect(await call(client, "listModels", { project_id: projectId })).toMatchObject({ text: "[There is none.]" });
  const { content } = await call(client, "fileContent", { project_id: projectId, digest });
  expect(content).toEqual([{ type: "image", data: pixel, mimeType: "image/png" }]);
});

test("what is long is cut and says so", async () => {
  const client = await connect(["--max-bytes", "1000"]);
  const one = await call(client, "callRead", { project_id: projectId, id: "second" });
  expect(one.text).toMatch(
    /ü\n\[Cut: these are the first 1000 of \d+ bytes, so the JSON is not complete\. Ask for less/,
  );
  const lines = await call(client, "callsQueryStream", { project_id: projectId });
  expect(lines.text).toMatch(/^\{[^\n]*"first"[^\n]*\}\n\[Cut after 1 item: there are more\./);
  const limited = await call(client, "callsQueryStream", { project_id: projectId, limit: 1 });
  expect(limited.text).toMatch(/^\{[^\n]*"first"[^\n]*\}$/);
});

test("what is wrong is a result that says what to do, and the next call works", async () => {
  const client = await connect();
  const wrong = async (name: string, args: Record<string, unknown>, reason: RegExp) => {
    const { isError, text } = await call(client, name, args);
    expect({ name, isError, text }).toEqual({ name, isError: true, text: expect.stringMatching(reason) as string });
  };
  await wrong("callRead", { project_id: projectId }, /^callRead needs the argument "id"\.$/);
  await wrong(
    "callRead",
    { project: projectId, id: "x" },
    /no argument "project"\. Did you mean "project_id"\? It has: /,
  );
  await wrong("callsQueryStream", { project_id: projectId, limit: "many" }, /422 body\.limit: /);
  const literal = { $expr: { $eq: [{ $getField: "inputs.n" }, { $literal: Number(big) }] } };
  await wrong(
    "callsQuery",
    { project_id: projectId, query: literal },
    /^query\.\$expr\.\$eq\.1\.\$literal is an integer beyond/,
  );
  await wrong("callStart", {}, /There is no tool callStart here/);
  await wrong("getModel", { model_id: "0199a000-0000-7000-8000-000000000009" }, /404/);
  expect((await call(client, "meRead")).isError).toBeUndefined();
});

test("a key reads what it may, and no service is an error of the call", async () => {
  const local = { HEDDLE_DATA_DIR: service.data };
  const created = await finished(
    heddle(["keys", "create", "--user", "ann", "--project", "team/other", "--json"], local),
  );
  const { secret } = JSON.parse(created.out) as { secret: string };
  const [ann, unknown, away] = await Promise.all([
    connect([], { HEDDLE_API_KEY: secret }),
    connect([], { HEDDLE_API_KEY: "k".repeat(40) }),
    connect(["--url", "http://127.0.0.1:1"]),
  ]);
  const request = { project_id: projectId, id: "first" };
  expect(await call(ann, "callRead", request)).toMatchObject({
    isError: true,
    text: expect.stringContaining("Set HEDDLE_API_KEY to a key that may.") as string,
  });
  expect(await call(unknown, "callRead", request)).toMatchObject({
    isError: true,
    text: expect.stringContaining("does not know the key") as string,
  });
  expect(await call(away, "callRead", request)).toMatchObject({
    isError: true,
    text: expect.stringContaining("No service answers at http://127.0.0.1:1") as string,
  });
});

test("only the tools that are wanted are offered, and a wrong command line says what is right", async () => {
  const client = await connect(["--only", "callRead,Training Jobs", "--only", "meread"]);
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toContain("listTrainingJobs");
  expect(names.filter((name) => !name.includes("TrainingJob"))).toEqual(["callRead", "meRead"]);
  const run = async (args: string[]) =>
    finished(heddle(["mcp", ...args], { HEDDLE_URL: service.url, HOME: directory }));
  const [list, unknown, size, key] = await Promise.all([
    run(["--list", "--only", "identity"]),
    run(["--only", "callsRead"]),
    run(["--max-bytes", "few"]),
    run([]),
  ]);
  expect(list).toEqual({ code: 0, out: "Identity: meRead, projectsQuery\n", err: "" });
  expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining("did you mean callRead?") as string });
  expect(size).toMatchObject({ code: 2, err: expect.stringContaining("--max-bytes must be a whole number") as string });
  expect(key).toMatchObject({ code: 1, out: "", err: expect.stringContaining("set HEDDLE_API_KEY") as string });
});

test("it ends when the host closes its input", async () => {
  expect(await finished(heddle(["mcp"], { HEDDLE_URL: service.url, HEDDLE_API_KEY: ownerKey }))).toEqual({
    code: 0,
    out: "",
    err: "",
  });
});
