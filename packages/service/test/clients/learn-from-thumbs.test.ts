import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drawCurve, expectPicture, takesPictures } from "../guides/end-picture.js";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

const run = promisify(execFile);
const program = fileURLToPath(new URL("../../../docs/examples/learn-from-thumbs.ts", import.meta.url));
const rounds = takesPictures ? 10 : 8;

let service: TestService;
let directory: string;
beforeAll(async () => {
  service = await openTestService();
  directory = mkdtempSync(join(tmpdir(), "heddle-thumbs-"));
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await service.close();
});

test("the program of the guide makes more answers liked, and draws that", { timeout: 300_000 }, async () => {
  const env = {
    ...process.env,
    NODE_OPTIONS: "-C @heddle/source",
    HEDDLE_URL: await service.listen(),
    HEDDLE_API_KEY: service.owner_key,
  };
  const tsx = import.meta.resolve("tsx");
  const args = ["--import", tsx, program, String(rounds)];
  const { stdout } = await run(process.execPath, args, { cwd: directory, env });
  const shares = [...stdout.matchAll(/(\d+) % 👍/gu)].map(([, share]) => Number(share));
  expect(shares).toHaveLength(rounds);
  expect(Math.max(...shares.slice(2))).toBeGreaterThan(shares[0] ?? Infinity);
  const curve = readFileSync(join(directory, "thumbs.svg"), "utf8");
  expect(curve).toContain("<polyline");
  const label = "The share of answers with a thumb up rises from round to round";
  expectPicture({ guide: "learn-from-thumbs", label, svg: drawCurve(curve, label) });
});
