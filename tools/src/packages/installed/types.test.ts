import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { describe, expect, inject, test } from "vitest";
import { compilePrograms, resolutions } from "./compiler.js";
import { installedEntries } from "./entries.js";
import { readmeExamples, statedOutput } from "./readme-examples.js";

const { project } = inject("installed");
const entries = installedEntries(project);
const examples = readmeExamples(project);

/** ESM programs import every entry, CommonJS programs require every one. */
const everyEntry = entries.map(({ specifier, types }, at) => {
  const attributes = types === undefined ? ' with { type: "json" }' : "";
  const use = `export type T${at} = typeof e${at};\n`;
  return {
    imported: `import * as e${at} from "${specifier}"${attributes};\n${use}`,
    required: `import e${at} = require("${specifier}");\n${use}`,
  };
});

test.each(Object.keys(resolutions) as (keyof typeof resolutions)[])(
  "every entry and the first example of every README compile with module resolution %s, libraries checked too",
  (resolution) => {
    const programs = Object.fromEntries(Object.entries(examples).map(([name, code]) => [`readme-${name}.mts`, code]));
    programs["entries.mts"] = everyEntry.map(({ imported }) => imported).join("");
    if (resolution === "nodenext") programs["entries.cts"] = everyEntry.map(({ required }) => required).join("");
    expect(compilePrograms(project, resolution, programs)).toBe("");
  },
);

test("a program that does not fit a package is found", () => {
  const program = 'import { parseRef } from "@heddle/trace-model";\nparseRef(1);\n';
  expect(compilePrograms(project, "nodenext", { "wrong.mts": program })).toContain("wrong.mts(2,10): error TS2345");
});

describe("the example of the README prints what it says", () => {
  const stated = Object.entries(examples).filter(([, code]) => statedOutput(code) !== "");

  test("of most packages", () => expect(stated.length).toBeGreaterThan(10));

  test.concurrent.each(stated)("%s", async (name, code) => {
    const { code: program } = transformSync(code, { loader: "ts", format: "esm", target: "esnext" });
    const file = join(project, `readme-${name}.mjs`);
    writeFileSync(file, program);
    const temporary = mkdtempSync(join(project, `tmp-${name}-`));
    try {
      expect(await run(file, temporary)).toEqual({ stdout: statedOutput(code), stderr: "", status: 0 });
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
  });
});

function run(file: string, temporary: string): Promise<{ stdout: string; stderr: string; status: number | null }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file], { cwd: project, env: { TMPDIR: temporary, NODE_NO_WARNINGS: "1" } });
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
    child.on("error", reject);
    child.on("close", (status) => resolve({ ...output, status }));
  });
}
