import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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

/** What differs from run to run, and the widths of columns that go by it. */
const timeless = (text: string): string => text.replaceAll(/\d+(?:\.\d+)? m?s/g, "…").replaceAll(/ +/g, " ");

test("the first paste of the guide ends with the trace, without a registry", async () => {
  const { url, key } = await runService(project);
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "heddle-user-")));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const clone = join(directory, "heddle");
  mkdirSync(join(clone, ".heddle"), { recursive: true });
  const main = "packages/service/dist/main.js";
  mkdirSync(join(clone, dirname(main)), { recursive: true });
  symlinkSync(join(project, "node_modules/@heddle/service/dist/main.js"), join(clone, main));
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
  expect(stderr).toBe("");
  expect(timeless(stdout.slice(stdout.indexOf("A heddle")))).toBe(timeless(output));
  const response = await fetch(`${url}/calls/query`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`api:${key}`)}`, "content-type": "application/json" },
    body: JSON.stringify({ project_id: "local/first-trace", filter: { trace_roots_only: true } }),
  });
  expect(await response.json()).toMatchObject({
    calls: [{ op_name: "answer", inputs: { arg0: "What is a heddle?" }, output: output.split("\n")[0] }],
  });
});

test("once the packages are published, the guide installs them by name", () => {
  expect(firstTrace(gettingStarted(address)).command).toContain(`npm install ${address}/packages/client.tgz\n`);
  const published = gettingStarted(address, true);
  expect(firstTrace(published).command).toContain("npm install @heddle/client\n");
  expect(published).not.toContain(".tgz");
});
