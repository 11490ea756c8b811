import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, onTestFinished, test } from "vitest";
import { readGuides } from "../../docs/guides.js";
import { deadRegistry, runService } from "./run-service.js";

const { project } = inject("installed");
const run = promisify(execFile);
const docs = join(import.meta.dirname, "../../../../packages/docs");
const address = "http://127.0.0.1:4680";

/** The guide with the address of a service that the test has started. */
function gettingStarted(url: string, published = false): string {
  const guides = readGuides(docs, published).flatMap((group) => group.guides);
  const guide = guides.find(({ name }) => name === "getting-started");
  if (guide === undefined) throw new Error("there is no guide getting-started");
  return guide.markdown.replaceAll(address, url);
}

/** The command and the output that it is said to have. */
function firstTrace(guide: string): { command: string; output: string } {
  const [, command, output] = /^## The first trace\n.*?^```sh\n(.*?)^```\n.*?^```text\n(.*?)^```$/ms.exec(guide) ?? [];
  if (command === undefined || output === undefined) throw new Error("the guide has no first trace");
  return { command, output };
}

test("the first paste of the guide ends with the trace, without a registry", async () => {
  const { url, key } = await runService(project);
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "heddle-user-")));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const clone = join(directory, "heddle");
  mkdirSync(join(clone, ".heddle"), { recursive: true });
  writeFileSync(join(clone, ".heddle/api-key"), `${key}\n`);
  const { command, output } = firstTrace(gettingStarted(url));
  const env = {
    PATH: process.env["PATH"],
    npm_config_registry: deadRegistry,
    npm_config_cache: join(directory, "cache"),
    npm_config_loglevel: "error",
    npm_config_fund: "false",
    npm_config_audit: "false",
  };
  const { stdout, stderr } = await run("bash", ["--norc", "-e", "-c", command], { cwd: clone, env });
  const id = /calls\/([0-9a-f-]{36})\n$/.exec(stdout)?.[1];
  expect(stderr).toBe("");
  expect(stdout.slice(stdout.indexOf("answer:"))).toBe(output.replace(/calls\/[0-9a-f-]{36}/, `calls/${id}`));
  const call = await fetch(`${url}/call/read`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`api:${key}`)}`, "content-type": "application/json" },
    body: JSON.stringify({ project_id: "local/first-trace", id }),
  });
  expect(await call.json()).toMatchObject({ call: { op_name: "answer", parent_id: null } });
});

test("once the packages are published, the guide installs them by name", () => {
  expect(firstTrace(gettingStarted(address)).command).toContain(`npm install ${address}/packages/client.tgz\n`);
  const published = gettingStarted(address, true);
  expect(firstTrace(published).command).toContain("npm install @heddle/client\n");
  expect(published).not.toContain(".tgz");
});
