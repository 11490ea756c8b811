import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkSteps, runSteps } from "./check.js";

async function lines(...commands: string[]): Promise<{ held: boolean; text: string }> {
  const printed: string[] = [];
  const steps = commands.map((command, index) => ({ name: `step ${index + 1}`, command, fix: `correct ${index + 1}` }));
  const held = await runSteps(steps, (line) => printed.push(line));
  return { held, text: printed.join("\n").replace(/\d+\.\d s/g, "0.0 s") };
}

test("each step is one line with its time, and the output of good steps is not shown", async () => {
  expect(await lines("echo chatter", "true")).toEqual({
    held: true,
    text: "ok     step 1               0.0 s\nok     step 2               0.0 s\n\nAll 2 checks pass (0.0 s).",
  });
});

test("the first failure ends the run with its output and what to do", async () => {
  expect(await lines("true", "echo wrong here; echo and here >&2; exit 3", "true")).toEqual({
    held: false,
    text: [
      "ok     step 1               0.0 s",
      "FAILED step 2               0.0 s",
      "\n$ echo wrong here; echo and here >&2; exit 3\nwrong here\nand here\n\nTo fix: correct 2",
    ].join("\n"),
  });
});

test("every script that the check runs exists", () => {
  const root = JSON.parse(readFileSync(join(import.meta.dirname, "../../../package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  for (const { command } of checkSteps) {
    const [, script] = /^pnpm ([\w:]+)$/.exec(command) ?? [];
    if (script) expect(root.scripts).toHaveProperty([script]);
  }
});
