/**
 * Runs `art-scenarios.py` with the Python package `openpipe-art` as PyPI has it, in a virtualenv of its own, against a
 * service of its own. Without python3, its venv module or a package index it says so and succeeds.
 *
 *   pnpm python-client
 */
import { fileURLToPath } from "node:url";
import { openHeddle, ownerKey } from "../faults/heddle-process.js";
import { installPython } from "./python-environment.js";

const release = "0.5.18";
// This release of ART does not work with the newer clients of OpenAI that it allows: they take the timeouts of another
// HTTP library.
const packages = [`openpipe-art==${release}`, "openai==2.14.0", "wandb==0.30.0"];
const program = fileURLToPath(new URL("art-scenarios.py", import.meta.url));

const python = await installPython("openpipe-art", packages);
if (python !== undefined) {
  const heddle = await openHeddle({ dist: fileURLToPath(new URL("../../dist", import.meta.url)) });
  try {
    console.log(`openpipe-art ${release} for Python:`);
    const code = await python.run([program, `${heddle.url}/v1`, "acme/art", ...process.argv.slice(2)], {
      WANDB_BASE_URL: heddle.url,
      WANDB_API_KEY: ownerKey,
      WANDB_ERROR_REPORTING: "false",
      WANDB_SILENT: "true",
      TQDM_DISABLE: "1",
    });
    if (code !== 0) process.exitCode = 1;
  } finally {
    await heddle.remove();
    python.remove();
  }
}
