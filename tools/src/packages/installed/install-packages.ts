import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publicPackages } from "../manifests.js";

export interface Installed {
  /** The project: its `node_modules` has all packages. */
  project: string;
  /** Package → path of its tarball. */
  tarballs: Record<string, string>;
}

// What a TypeScript project on Node has besides the packages, and what their examples import.
const others = { "@types/node": "^20.19", "@clickhouse/client": "1.23.1" };

/** Packs the public packages of a repository below `directory` and installs the tarballs in a project next to them. */
export function installPackages(root: string, directory: string): Installed {
  const packages = publicPackages(root).map(({ manifest }) => manifest);
  const packs = join(directory, "tarballs");
  const project = join(directory, "project");
  mkdirSync(packs);
  const filters = packages.flatMap(({ name }) => ["--filter", name]);
  pnpm(root, "--recursive", ...filters, "pack", "--pack-destination", packs);
  const tarballs = Object.fromEntries(
    packages.map(({ name, version }) => [name, join(packs, `${name.slice(1).replace("/", "-")}-${version}.tgz`)]),
  );
  installTarballs(project, tarballs);
  return { project, tarballs };
}

/** Installs tarballs in a new project, without the optional packages that are named. */
export function installTarballs(project: string, tarballs: Record<string, string>, without: string[] = []): void {
  mkdirSync(project);
  const files = Object.fromEntries(Object.entries(tarballs).map(([name, path]) => [name, `file:${path}`]));
  const manifest = {
    name: "empty",
    private: true,
    type: "module",
    dependencies: { ...files, ...others },
    // The packages depend on each other by version, which no registry has yet.
    pnpm: { overrides: files, ignoredOptionalDependencies: without },
  };
  writeFileSync(join(project, "package.json"), JSON.stringify(manifest, null, 2));
  // Without hoisting, a package finds only what its own manifest names.
  writeFileSync(join(project, ".npmrc"), "hoist=false\n");
  pnpm(project, "install", "--prefer-offline", "--ignore-workspace", "--ignore-scripts");
}

function pnpm(cwd: string, ...args: string[]): void {
  try {
    execFileSync("pnpm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`pnpm ${args.join(" ")} failed:\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}
