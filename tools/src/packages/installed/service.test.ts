import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, inject, onTestFinished, test } from "vitest";
import { readManifest } from "../manifests.js";

const { project } = inject("installed");
const command = join(project, "node_modules/.bin/heddle");
const env = { PATH: process.env["PATH"], HEDDLE_PORT: "0", HEDDLE_OTLP_GRPC_PORT: "off" };

test("heddle --version prints the version of the package", () => {
  const { version } = readManifest(join(project, "node_modules/@heddle/service"));
  const { stdout, status } = spawnSync(command, ["--version"], { cwd: project, env, encoding: "utf8" });
  expect(status).toBe(0);
  expect(stdout.trim().split(" ").at(-1)).toBe(version);
});

test("the installed service starts, stores a call, serves its documentation and ends", async () => {
  const data = mkdtempSync(join(project, "data-"));
  const child = spawn(command, ["serve"], { cwd: project, env: { ...env, HEDDLE_DATA_DIR: data } });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "exit");
  const url = await Promise.race([
    listening(child.stdout),
    ended.then(() => Promise.reject(new Error(`heddle serve ended: ${child.stderr.read()}`))),
  ]);

  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect(await (await fetch(`${url}/docs/`)).text()).toContain("Heddle");

  const key = readFileSync(join(data, "api-key"), "utf8").trim();
  const headers = { authorization: `Basic ${btoa(`api:${key}`)}`, "content-type": "application/json" };
  const post = async (path: string, body: object) => {
    const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, body: await response.text() };
  };
  const start = {
    project_id: "acme/demo",
    op_name: "answer",
    started_at: new Date().toISOString(),
    attributes: {},
    inputs: {},
  };
  const started = await post("/call/start", { start });
  expect(started.status).toBe(200);
  const { id } = JSON.parse(started.body) as { id: string };
  expect((await post("/call/read", { project_id: "acme/demo", id })).body).toContain('"op_name":"answer"');

  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

/** The address that the service prints. */
async function listening(stdout: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(stdout)) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url) return url;
  }
  throw new Error("heddle serve printed no address");
}
