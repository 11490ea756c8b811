import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { installedEntries } from "./entries.js";

const { project } = inject("installed");
const specifiers = installedEntries(project)
  .filter(({ runs }) => runs)
  .map(({ specifier }) => specifier);

/** Specifier → names it exports, as one program in the project sees them. */
function exportsIn(file: string, program: string): Record<string, string[]> {
  writeFileSync(join(project, file), program);
  const { stdout, stderr } = spawnSync(process.execPath, [file], { cwd: project, encoding: "utf8", env: {} });
  // A warning of Node would be printed in every program that imports the package.
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Record<string, string[]>;
}

test("every entry is imported by an ESM program and required by a CommonJS program, with the same exports", () => {
  const names = JSON.stringify(specifiers);
  const imported = exportsIn(
    "imports.mjs",
    `const found = {};
for (const name of ${names}) found[name] = Object.keys(await import(name)).sort();
console.log(JSON.stringify(found));`,
  );
  const required = exportsIn(
    "requires.cjs",
    `const found = {};
for (const name of ${names}) found[name] = Object.keys(require(name)).filter((key) => key !== "__esModule").sort();
console.log(JSON.stringify(found));`,
  );
  expect(Object.keys(imported)).toEqual(specifiers);
  expect(Object.values(imported).filter((exported) => exported.length === 0)).toEqual([]);
  expect(required).toEqual(imported);
});
