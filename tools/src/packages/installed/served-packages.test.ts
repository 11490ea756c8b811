import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { readManifest } from "../manifests.js";
import { deadRegistry, runService } from "./run-service.js";

const { project } = inject("installed");
const run = promisify(execFile);

let empty: string;
beforeEach(() => {
  empty = mkdtempSync(join(tmpdir(), "heddle-user-"));
});
afterEach(() => rmSync(empty, { recursive: true, force: true }));

interface Packed {
  name: string;
  version: string;
  tarball: string;
  integrity: string;
}

const program = `import { createTracingClient } from "@heddle/client";
const [, , baseUrl, apiKey] = process.argv;
const tracing = createTracingClient({ baseUrl, apiKey });
const project_id = "local/first";
const started_at = new Date().toISOString();
const start = { project_id, op_name: "greet", started_at, attributes: {}, inputs: { name: "Ada" } };
const { id } = await tracing.callStart({ start });
await tracing.callEnd({ end: { project_id, id, ended_at: started_at, output: "Hello, Ada", summary: {} } });
for await (const call of tracing.callsQueryStream({ project_id, limit: 10 })) console.log(call.op_name, call.output);
`;

test("a program in an empty directory traces with the client that the service serves, without a registry", async () => {
  const { url, key } = await runService(project);
  const npm = ["install", `${url}/packages/client.tgz`, "--registry", deadRegistry, "--cache", join(empty, "cache")];
  await run("npm", npm, { cwd: empty });
  expect(readdirSync(join(empty, "node_modules")).filter((name) => !name.startsWith("."))).toEqual(["@heddle"]);
  writeFileSync(join(empty, "program.mjs"), program);
  const { stdout, stderr } = await run(process.execPath, ["program.mjs", url, key], { cwd: empty });
  expect({ stdout, stderr }).toEqual({ stdout: "greet Hello, Ada\n", stderr: "" });
});

test("every package of the list is installed as it is named there, in the version of the service", async () => {
  const { url } = await runService(project);
  const { packages } = (await (await fetch(`${url}/packages/index.json`)).json()) as { packages: Packed[] };
  expect(packages.map(({ name }) => name)).toEqual(["@heddle/client", "@heddle/server-stub", "@heddle/spec"]);
  const tarballs = packages.map(({ tarball }) => tarball);
  const npm = ["install", ...tarballs, "--registry", deadRegistry, "--cache", join(empty, "cache")];
  await run("npm", npm, { cwd: empty });
  const { version } = readManifest(join(project, "node_modules/@heddle/service"));
  const lock = JSON.parse(readFileSync(join(empty, "package-lock.json"), "utf8")) as Lock;
  for (const { name, version: stated, integrity } of packages) {
    expect([stated, readManifest(join(empty, "node_modules", name)).version]).toEqual([version, version]);
    // npm has computed it of what it got.
    expect(lock.packages[`node_modules/${name}`]?.integrity).toBe(integrity);
  }
});

interface Lock {
  packages: Record<string, { integrity?: string }>;
}
