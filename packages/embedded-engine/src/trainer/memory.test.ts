import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("memory does not grow over hundreds of steps of different shapes", async () => {
  const program = fileURLToPath(new URL("../../test/varied-shapes.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--conditions",
    "@heddle/source",
    "--import",
    import.meta.resolve("tsx"),
    program,
    "200",
  ]);
  const resident = stdout.trim().split("\n").map(Number);
  expect(resident).toHaveLength(10);
  // The activations of one step are several MiB; a leak of each step would add up to a thousand.
  expect(Math.max(...resident.slice(5)) - resident[2]!).toBeLessThan(64);
}, 120_000);
