import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { readManifest } from "../manifests.js";
import { environment as env, runService } from "./run-service.js";

const { project } = inject("installed");
const command = join(project, "node_modules/.bin/heddle");

test("heddle --version prints the version of the package", () => {
  const { version } = readManifest(join(project, "node_modules/@heddle/service"));
  const { stdout, status } = spawnSync(command, ["--version"], { cwd: project, env, encoding: "utf8" });
  expect(status).toBe(0);
  expect(stdout.trim().split(" ").at(-1)).toBe(version);
});

test("the installed service starts, stores a call, serves its documentation and ends", async () => {
  const { url, key, end } = await runService(project);

  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect(await (await fetch(`${url}/docs/`)).text()).toContain("Heddle");

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

  expect(await end()).toEqual([0, null]);
});
