import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

interface Manifest {
  name: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/**
 * Compiles every package of the repository at `root` into `target/node_modules`, as if it was installed there. Types
 * are not checked. Only code is written; every other file is a link to the one in the repository.
 */
export async function compilePackages(root: string, target: string): Promise<void> {
  const modules = join(target, "node_modules");
  mkdirSync(join(modules, "@heddle"), { recursive: true });
  symlinkSync(join(root, "spec"), join(modules, "@heddle/spec"), "dir");
  const entryPoints = readdirSync(join(root, "packages")).flatMap((folder) => {
    const from = join(root, "packages", folder);
    if (!existsSync(join(from, "src"))) return [];
    const manifest = readManifest(join(from, "package.json"));
    linkFiles(from, join(modules, manifest.name));
    writeFileSync(join(modules, manifest.name, "package.json"), JSON.stringify(manifest));
    const sources = sourcesOf(join(from, "src"));
    linkDependencies(from, manifest, sources, modules);
    return sources.map((file) => ({
      in: join(from, "src", file),
      out: `${manifest.name}/dist/${file.replace(/\.[jt]s$/, "")}`,
    }));
  });
  await build({ entryPoints, outdir: modules, format: "esm", platform: "node", target: "node20", logLevel: "warning" });
}

/** Without its exports of sources, which a process of the tests would prefer. */
function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, "utf8"), (key, value: unknown) =>
    key === "@heddle/source" ? undefined : value,
  ) as Manifest;
}

function sourcesOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.[jt]s$/.test(file) && !/\.(?:test|d)\.ts$/.test(file),
  );
}

function linkFiles(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    if (!["src", "dist", "node_modules", "package.json"].includes(name)) symlinkSync(join(from, name), join(to, name));
  }
}

/** The versions in the repository are the same in every package, so that one link per name is enough. */
function linkDependencies(from: string, manifest: Manifest, sources: readonly string[], modules: string): void {
  const texts = sources.map((file) => readFileSync(join(from, "src", file), "utf8"));
  // What the build bundles.
  const bundled = Object.keys(manifest.devDependencies ?? {}).filter((name) =>
    texts.some((text) => text.includes(` from "${name}";`)),
  );
  for (const name of [...Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }), ...bundled]) {
    const link = join(modules, name);
    const installed = join(from, "node_modules", name);
    if (name.startsWith("@heddle/") || !existsSync(installed)) continue;
    if (!existsSync(link)) {
      mkdirSync(join(link, ".."), { recursive: true });
      symlinkSync(realpathSync(installed), link, "dir");
    } else if (realpathSync(link) !== realpathSync(installed)) {
      throw new Error(`${manifest.name} has another version of ${name} than the other packages`);
    }
  }
}
