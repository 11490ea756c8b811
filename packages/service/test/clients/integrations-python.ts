/**
 * Tests the pages of the documentation about integrations for Python as `integrations.test.ts` does those for TypeScript:
 * each with its packages as PyPI has them, in a virtualenv of its own that `uv` makes. Without python3, its venv module or a
 * package index it says so and succeeds.
 *
 *   pnpm python-client
 */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installPython } from "./python-environment.js";

const release = "0.13.9";
const root = fileURLToPath(new URL("../../../../", import.meta.url));

const environment = await installPython("uv", [`uv==${release}`]);
if (environment !== undefined) {
  const { directory, python } = environment;
  try {
    const { status } = spawnSync("vitest", ["run", "packages/service/test/integrations", ...process.argv.slice(2)], {
      cwd: root,
      env: {
        ...indexOf(python),
        ...process.env,
        HEDDLE_INTEGRATIONS_UV: join(directory, "venv/bin/uv"),
        // Of one file system with the virtualenvs, which link to it.
        UV_CACHE_DIR: join(directory, "uv-cache"),
        TMPDIR: directory,
      },
      stdio: "inherit",
    });
    if (status !== 0) process.exitCode = 1;
  } finally {
    environment.remove();
  }
}

/** The package index that pip is set up with, for uv, which does not read its configuration. */
function indexOf(python: string): Record<string, string> {
  const list = execFileSync(python, ["-m", "pip", "config", "list"], { encoding: "utf8" });
  const setting = (name: string) => new RegExp(`^[^=]*\\.${name}='(.*)'$`, "m").exec(list)?.[1];
  const [index, certificates] = [setting("index-url"), setting("cert")];
  return {
    ...(index !== undefined && { UV_DEFAULT_INDEX: index }),
    ...(certificates !== undefined && { SSL_CERT_FILE: certificates }),
  };
}
