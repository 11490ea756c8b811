/**
 * Runs `weave-scenarios.py` with the Python package `weave` as PyPI has it, in a virtualenv of its own, against a
 * service of its own: once with complete calls, once with starts and ends. The program of the guide follows. Without python3, its venv module or a package
 * index it says so and succeeds.
 *
 *   pnpm python-client [scenario…]
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openHeddle, ownerKey } from "../faults/heddle-process.js";
import { installPython } from "./python-environment.js";
import type { PythonEnvironment } from "./python-environment.js";

const release = "0.54.0";
const guide = fileURLToPath(new URL("../../../docs/guides/weave-sdks.md", import.meta.url));
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
        ...settings(environment, heddle.url),
        WEAVE_USE_CALLS_COMPLETE: complete,
      });
      if (code !== 0) status = 1;
    }
    return (await runGuide(environment, heddle.url)) ? status : 1;
  } finally {
    await heddle.remove();
  }
}

function settings({ directory }: PythonEnvironment, url: string): Record<string, string> {
  return {
    // The SDK remembers there what each project has, and would not send it to the next service.
    WEAVE_SERVER_CACHE_DIR: join(directory, "cache"),
    WANDB_BASE_URL: url,
    WANDB_API_KEY: ownerKey,
    WANDB_ERROR_REPORTING: "false",
    WEAVE_PRINT_CALL_LINK: "false",
  };
}

/** Whether the call of the guide's program is there, with its output. */
async function runGuide(environment: PythonEnvironment, url: string): Promise<boolean> {
  const [, code] = /^```python\n([^]*?)^```$/m.exec(readFileSync(guide, "utf8")) ?? [];
  if (code === undefined) throw new Error(`${guide} has no program for Python`);
  const file = join(environment.directory, "guide.py");
  writeFileSync(file, code);
  const status = await environment.run([file], settings(environment, url));
  const response = await fetch(`${url}/calls/stream_query`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`api:${ownerKey}`)}`, "content-type": "application/json" },
    body: JSON.stringify({ project_id: "local/examples" }),
  });
  const calls = await response.text();
  const isRight = status === 0 && calls.includes("It holds the warp threads apart.");
  console.log(`${isRight ? "ok" : "FAILED"} the program of the guide${isRight ? "" : `: ${calls}`}`);
  return isRight;
}
