/**
 * Runs `art-scenarios.py` with the Python package `openpipe-art` as PyPI has it, in virtualenvs of its own, against a
 * service of its own: the newest release, and with `--all` older ones, whose requests differ. Without python3, its venv
 * module or a package index it says so and succeeds.
 *
 *   pnpm python-client
 */
import { fileURLToPath } from "node:url";
import { openHeddle, ownerKey } from "../faults/heddle-process.js";
import { installPython } from "./python-environment.js";

const [newest, ...older] = ["0.5.18", "0.5.11", "0.5.4"];
// These releases of ART do not work with the newest clients of OpenAI that they allow, which take the timeouts of another
// HTTP library.
const others = ["openai==2.14.0", "wandb==0.30.0"];
/** Imported by the oldest release, which does not name them. */
const unnamed = ["nest-asyncio", "polars", "setproctitle", "tblib"];
const program = fileURLToPath(new URL("art-scenarios.py", import.meta.url));

const args = process.argv.slice(2);
const scenarios = args.filter((arg) => arg !== "--all");
for (const release of args.includes("--all") ? [newest, ...older] : [newest]) await runWith(release ?? "");

async function runWith(release: string): Promise<void> {
  const python = await installPython("openpipe-art", [`openpipe-art==${release}`, ...others, ...unnamed]);
  if (python === undefined) return;
  const heddle = await openHeddle({ dist: fileURLToPath(new URL("../../dist", import.meta.url)) });
  try {
    console.log(`openpipe-art ${release} for Python:`);
    // ART begins a run of wandb in the default entity, whatever the entity of the model is.
    const code = await python.run([program, `${heddle.url}/v1`, "local/art", ...scenarios], {
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
