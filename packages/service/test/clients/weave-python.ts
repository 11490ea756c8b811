/**
 * Runs `weave-scenarios.py` with the Python package `weave` as PyPI has it, in a virtualenv of its own, against a
 * service of its own: once with complete calls, once with starts and ends. Without python3, its venv module or a package
 * index it says so and succeeds.
 *
 *   pnpm python-client [scenario…]
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openHeddle, ownerKey } from "../faults/heddle-process.js";
import { installPython } from "./python-environment.js";
import type { PythonEnvironment } from "./python-environment.js";

const release = "0.54.0";
const program = fileURLToPath(new URL("weave-scenarios.py", import.meta.url));

const python = await installPython("weave", [`weave==${release}`]);
if (python !== undefined) {
  try {
    process.exitCode = await runBothWays(python);
  } finally {
    python.remove();
  }
}

/** Returns 0 when every scenario passed on both write paths. */
async function runBothWays(environment: PythonEnvironment): Promise<number> {
  const heddle = await openHeddle({ dist: fileURLToPath(new URL("../../dist", import.meta.url)) });
  try {
    let status = 0;
    for (const [path, complete] of [
      ["complete calls", "true"],
      ["starts and ends", "false"],
    ] as const) {
      console.log(`weave ${release} for Python, ${path}:`);
      const code = await environment.run([program, `acme/python-${complete}`, ...process.argv.slice(2)], {
        // The SDK remembers there what each project has, and would not send it to the next service.
        WEAVE_SERVER_CACHE_DIR: join(environment.directory, "cache"),
        WANDB_BASE_URL: heddle.url,
        WANDB_API_KEY: ownerKey,
        WANDB_ERROR_REPORTING: "false",
        WEAVE_USE_CALLS_COMPLETE: complete,
        WEAVE_PRINT_CALL_LINK: "false",
      });
      if (code !== 0) status = 1;
    }
    return status;
  } finally {
    await heddle.remove();
  }
}
