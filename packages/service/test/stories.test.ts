import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "./test-service.js";
import type { TestService } from "./test-service.js";

// Each story runs over a socket; `redocly respect` checks every response against the spec, undeclared properties included.
const spec = fileURLToPath(new URL("../../../spec", import.meta.url));
const stories = readdirSync(join(spec, "stories")).filter((name) => name.endsWith(".arazzo.yaml"));
const manifest = createRequire(import.meta.url).resolve("@redocly/cli/package.json");
const redocly = join(dirname(manifest), "bin/cli.js");

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService();
  url = await service.listen();
});
afterAll(() => service.close());

test.each(stories)("the story %s comes true", async (story) => {
  const project = newProject();
  const [entity, name] = project.split("/");
  const given = Object.entries({ project, entity, name, api_key: service.owner_key });
  const inputs = given.flatMap(([key, value]) => ["--input", `${key}=${value}`]);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [redocly, "respect", join("stories", story), "-S", `tracing=${url}`, ...inputs],
    { cwd: spec, env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" } },
  ).catch((error: { stdout?: string }) => {
    throw new Error(error.stdout ?? "redocly respect did not run");
  });
  expect(stdout).toMatch(/passed/);
  expect(service.unexpected).toEqual([]);
});
