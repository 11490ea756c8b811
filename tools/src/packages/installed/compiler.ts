import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

// The compiler of the repository's root; that of the generators is an older one.
const require = createRequire(join(import.meta.dirname, "../../../../package.json"));
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");

const strict = {
  target: "es2023",
  lib: ["es2023", "dom", "dom.asynciterable"],
  types: ["node"],
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  noEmit: true,
  resolveJsonModule: true,
};

export const resolutions = {
  nodenext: { module: "nodenext" },
  bundler: { module: "esnext", moduleResolution: "bundler" },
};

/** The compiler's findings about programs in a folder of the project. */
export function compilePrograms(
  project: string,
  resolution: keyof typeof resolutions,
  programs: Record<string, string>,
): string {
  const folder = join(project, `types-${resolution}`);
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, name), text);
  const config = { compilerOptions: { ...strict, ...resolutions[resolution] }, files: Object.keys(programs) };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, "--pretty", "false"], { cwd: folder, encoding: "utf8" });
  return stdout + stderr;
}
