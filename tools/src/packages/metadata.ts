import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isEntry } from "../entry.js";
import { publicPackages, readManifest } from "./manifests.js";
import type { Manifest, Package } from "./manifests.js";

const unpublished = "!src/**/*.test.ts";
const reservedHost = /\bexample\.(?:com|net|org)\b/;

/**
 * What the manifest of a public package has in common with the others. The root `package.json` is the one location of
 * the repository's address.
 */
export function sharedMetadata(root: Manifest, { directory, manifest }: Package): Partial<Manifest> {
  const { exports } = manifest.publishConfig ?? {};
  const files = (manifest.files ?? []).filter((pattern) => pattern !== unpublished);
  return {
    homepage: `${root.homepage}/tree/main/${directory}#readme`,
    bugs: root.bugs!,
    license: root.license!,
    repository: { ...root.repository!, directory },
    files: files.includes("src") ? [...files, unpublished] : files,
    publishConfig: { ...(exports && { exports }), access: "public", provenance: true },
    engines: root.engines!,
  };
}

/** Writes the shared metadata into every public package. Returns the names of those that changed. */
export function writeMetadata(root: string): string[] {
  const shared = readManifest(root);
  return publicPackages(root).flatMap((found) => {
    const before = JSON.stringify(found.manifest);
    const manifest = { ...found.manifest, ...sharedMetadata(shared, found) };
    if (JSON.stringify(manifest) === before) return [];
    writeFileSync(join(root, found.directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    return [found.manifest.name];
  });
}

/** Why the packages cannot be published as they are; undefined when they can. */
export function unpublishable({ repository }: Manifest): string | undefined {
  if (repository === undefined || !reservedHost.test(repository.url)) return undefined;
  return (
    `"repository" of package.json is ${repository.url}, which nobody can open. ` +
    "Set repository, homepage and bugs there, and run `npx -y pnpm@10.34.9 metadata && npx -y pnpm@10.34.9 format`."
  );
}

if (isEntry(import.meta.url)) {
  const root = resolve(".");
  const reason = process.argv.includes("--publishable") ? unpublishable(readManifest(root)) : undefined;
  if (reason) {
    console.error(reason);
    process.exitCode = 1;
  } else {
    for (const name of writeMetadata(root)) console.log(`${name}: package.json updated`);
  }
}
