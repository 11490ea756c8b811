/**
 * Runs `wandb-scenario.py` with the Python package `wandb` as PyPI has it, in a virtualenv of its own, against a service
 * of its own. Without python3, its venv module or a package index it says so and succeeds.
 *
 *   pnpm python-client
 */
import { fileURLToPath } from "node:url";
import { openHeddle, ownerKey } from "../faults/heddle-process.js";
import { installPython } from "./python-environment.js";

const release = "0.30.0";
const program = fileURLToPath(new URL("wandb-scenario.py", import.meta.url));

const python = await installPython("wandb", [`wandb==${release}`]);
if (python !== undefined) {
  const heddle = await openHeddle({ dist: fileURLToPath(new URL("../../dist", import.meta.url)) });
  try {
    console.log(`wandb ${release} for Python:`);
    const code = await python.run([program], {
      WANDB_BASE_URL: heddle.url,
      WANDB_API_KEY: ownerKey,
      WANDB_ERROR_REPORTING: "false",
      WANDB_SILENT: "true",
    });
    if (code !== 0) process.exitCode = 1;
  } finally {
    await heddle.remove();
    python.remove();
  }
}
