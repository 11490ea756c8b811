/**
 * Runs `weave-scenarios.py` with the Python package `weave` as PyPI has it, in a virtualenv of its own, against a
 * service of its own: once with complete calls, once with starts and ends. Without python3, its venv module or a package
 * index it says so and succeeds.
 *
 *   pnpm python-client [scenario…]
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openHeddle, ownerKey } from "../faults/heddle-process.js";

const release = "0.54.0";
const program = fileURLToPath(new URL("weave-scenarios.py", import.meta.url));
const run = promisify(execFile);

const directory = mkdtempSync(join(tmpdir(), "heddle-weave-python-"));
try {
  const python = await install();
  if (python !== undefined) process.exitCode = await runBothWays(python);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

/** The interpreter of a virtualenv with the SDK; undefined where that cannot be had, after saying why. */
async function install(): Promise<string | undefined> {
  const skipped = (what: string, error: unknown) => {
    const { stderr = "" } = error as { stderr?: string };
    console.log(`weave for Python: SKIPPED, ${what}: ${stderr.trim().split("\n").at(-1) || String(error)}`);
  };
  const environment = join(directory, "venv");
  try {
    await run("python3", ["-m", "venv", environment]);
  } catch (error) {
    skipped("there is no python3 with the module venv", error);
    return undefined;
  }
  const python = join(environment, "bin", "python");
  const pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "install", "-q"] as const;
  try {
    await run(pip[0], [...pip.slice(1), `weave==${release}`], { timeout: 300_000, maxBuffer: 2 ** 26 });
  } catch (error) {
    skipped(`weave ${release} cannot be installed`, error);
    return undefined;
  }
  return python;
}

/** Returns 0 when every scenario passed on both write paths. */
async function runBothWays(python: string): Promise<number> {
  const heddle = await openHeddle({ dist: fileURLToPath(new URL("../../dist", import.meta.url)) });
  try {
    let status = 0;
    for (const [path, complete] of [
      ["complete calls", "true"],
      ["starts and ends", "false"],
    ] as const) {
      console.log(`weave ${release} for Python, ${path}:`);
      const child = spawn(python, [program, `acme/python-${complete}`, ...process.argv.slice(2)], {
        env: {
          PATH: process.env["PATH"],
          HOME: directory,
          // The SDK remembers there what each project has, and would not send it to the next service.
          TMPDIR: directory,
          WEAVE_SERVER_CACHE_DIR: join(directory, "cache"),
          WANDB_BASE_URL: heddle.url,
          WANDB_API_KEY: ownerKey,
          WANDB_ERROR_REPORTING: "false",
          WEAVE_USE_CALLS_COMPLETE: complete,
          WEAVE_PRINT_CALL_LINK: "false",
        },
        stdio: ["ignore", "inherit", "pipe"],
        timeout: 120_000,
      });
      // Links and progress, of interest only when something fails.
      let log = "";
      child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
      const [code] = (await once(child, "close")) as [number | null];
      if (code === 0) continue;
      status = 1;
      console.log(log);
    }
    return status;
  } finally {
    await heddle.remove();
  }
}
