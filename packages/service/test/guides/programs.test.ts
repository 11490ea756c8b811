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
async function printed(name: string, ...rest: string[]): Promise<string> {
  const args = ["--import", "tsx", "-C", "@heddle/source", join(examples, name), ...rest];
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

test("the guide of training on traces shows the rating of each round", { timeout: 240_000 }, async () => {
  const lines = (await printed("trace-to-training.ts", "2")).trimEnd().split("\n");
  expect(lines.map((line) => line.replace(/[█·]{20} {2}mean rating [01]\.\d\d$/, "…"))).toEqual([
    "round  1 of 2  …",
    "round  2 of 2  …",
    expect.stringMatching(/\/console\/local\/trace-to-training\/calls$/),
  ]);
});
