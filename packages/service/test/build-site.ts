import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Builds the console or the documentation from source into a directory of its own; returns it. */
export function buildSite(name: "console" | "docs"): string {
  const directory = mkdtempSync(join(tmpdir(), `heddle-${name}-`));
  const cwd = fileURLToPath(new URL(`../../${name}/`, import.meta.url));
  const script = ["--import", "tsx", "-C", "@heddle/source", "scripts/build-site.ts", directory];
  // React has another build for tests.
  execFileSync(process.execPath, script, { cwd, env: { ...process.env, NODE_ENV: "production" } });
  return directory;
}
