// Packs what programs need to use the service, as it is published: the service serves it at /packages/.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packagesDirectory } from "../src/http/served-packages.js";
import type { PackedPackage } from "../src/http/served-packages.js";

const root = join(import.meta.dirname, "../../..");
/** None has a dependency, which would have to come from a registry. */
const served = { client: "packages/client", "server-stub": "packages/server-stub", spec: "spec" };

rmSync(packagesDirectory, { recursive: true, force: true });
mkdirSync(packagesDirectory, { recursive: true });
const packed = Object.entries(served).map(([name, directory]): PackedPackage => {
  const file = `${name}.tgz`;
  const path = join(packagesDirectory, file);
  execFileSync("pnpm", ["pack", "--out", path], { cwd: join(root, directory), stdio: ["ignore", "ignore", "inherit"] });
  const manifest = JSON.parse(readFileSync(join(root, directory, "package.json"), "utf8")) as Manifest;
  const needed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  if (needed.length > 0) throw new Error(`${manifest.name} is served, but needs ${needed.join(", ")} from a registry`);
  const bytes = readFileSync(path);
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  return {
    name: manifest.name,
    version: manifest.version,
    description: manifest.description,
    file,
    size: bytes.length,
    integrity,
  };
});
writeFileSync(join(packagesDirectory, "packages.json"), `${JSON.stringify(packed, null, 2)}\n`);

interface Manifest {
  name: string;
  version: string;
  description: string;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}
