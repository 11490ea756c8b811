/**
 * Runs the samples of the documentation for Python with the package `requests` as PyPI has it, in a virtualenv of its own.
 * Without python3, its venv module or a package index it says so and succeeds.
 *
 *   pnpm python-client
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { installPython } from "./python-environment.js";

const release = "2.34.2";
const root = fileURLToPath(new URL("../../../../", import.meta.url));

const environment = await installPython("requests", [`requests==${release}`]);
if (environment !== undefined) {
  try {
    console.log(`requests ${release} for Python, samples of the documentation:`);
    const { status } = spawnSync("vitest", ["run", "packages/service/test/samples"], {
      cwd: root,
      env: { ...process.env, HEDDLE_SAMPLES_PYTHON: environment.python },
      stdio: "inherit",
    });
    if (status !== 0) process.exitCode = 1;
  } finally {
    environment.remove();
  }
}
