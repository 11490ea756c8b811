import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { compilePackages } from "./compile.js";

declare module "vitest" {
  export interface ProvidedContext {
    /** Directory of the compiled packages: `<name>/dist/…` each. */
    compiled: string;
  }
}

/** Compiles the packages once per test run, for tests that start processes. */
export async function setup(project: TestProject): Promise<() => void> {
  const directory = mkdtempSync(join(tmpdir(), "heddle-compiled-"));
  // Tests start processes of other users, too.
  chmodSync(directory, 0o755);
  await compilePackages(project.config.root, directory);
  const modules = join(directory, "node_modules");
  project.provide("compiled", modules);
  // What starts a process or a thread starts it from there, see `entryModule` of @heddle/concurrency.
  process.env["HEDDLE_COMPILED"] = modules;
  return () => rmSync(directory, { recursive: true, force: true });
}
