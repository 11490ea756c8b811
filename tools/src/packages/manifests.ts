import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The parts of a `package.json` that are read here. */
export interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  description?: string;
  keywords?: string[];
  homepage?: string;
  bugs?: string | { url: string };
  license?: string;
  repository?: { type: string; url: string; directory?: string };
  files?: string[];
  exports?: Record<string, string | Record<string, string>>;
  publishConfig?: { exports?: Record<string, Record<string, string>>; [key: string]: unknown };
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  engines?: Record<string, string>;
  [key: string]: unknown;
}

export interface Package {
  /** Relative to the root of the repository: `packages/client`. */
  directory: string;
  manifest: Manifest;
}

/** The packages that are published: each one that is not `private`. */
export function publicPackages(root: string): Package[] {
  const directories = ["spec", ...readdirSync(join(root, "packages")).map((name) => `packages/${name}`)];
  return directories
    .filter((directory) => existsSync(join(root, directory, "package.json")))
    .map((directory) => ({ directory, manifest: readManifest(join(root, directory)) }))
    .filter(({ manifest }) => manifest.private !== true);
}

export function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;
}
