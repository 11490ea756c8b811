import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { installPackages } from "./install-packages.js";
import type { Installed } from "./install-packages.js";

declare module "vitest" {
  export interface ProvidedContext {
    installed: Installed;
  }
}

/** Packs every public package and installs all of them in one empty project. */
export function setup(project: TestProject): () => void {
  const directory = mkdtempSync(join(tmpdir(), "heddle-installed-"));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    project.provide("installed", installPackages(project.config.root, directory));
  } catch (error) {
    remove();
    throw error;
  }
  return remove;
}
