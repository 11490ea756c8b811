import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

const run = promisify(execFile);
const examples = join(import.meta.dirname, "../../../docs/examples");
let service: TestService;
let env: Record<string, string | undefined>;

beforeAll(async () => {
  service = await openTestService();
  const key = await service.key({ entity: "local", role: "write" });
  env = { ...process.env, HEDDLE_URL: await service.listen(), HEDDLE_API_KEY: key };
});
afterAll(() => service.close());

/** What the program of a guide prints, run as the guide says. */
async function printed(name: string): Promise<string> {
  const args = ["--import", "tsx", "-C", "@heddle/source", join(examples, name)];
  const { stdout, stderr } = await run(process.execPath, args, { cwd: examples, env });
  expect(stderr).toBe("");
  return stdout;
}

test("the guide of evaluations ends with both runs as a table", { timeout: 120_000 }, async () => {
  const lines = (await printed("evaluate-a-model.ts")).trimEnd().split("\n");
  expect(lines[0]).toMatch(/^QUESTION +AT 0 +AT 1/);
  expect(lines.slice(1, -1)).toHaveLength(4);
  for (const line of lines.slice(1, -1)) expect(line).toMatch(/respond with .* {2}[✓✗] ".*" +[✓✗] "/);
  expect(lines.at(-1)).toMatch(/\/console\/local\/evaluate-a-model\/evaluations$/);
});
