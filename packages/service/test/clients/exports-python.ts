/**
 * Runs `exports-scenario.py` with the Python packages `peft`, `transformers`, `torch` and `gguf` as PyPI has them, in a virtualenv
 * of its own, against a service of its own. Without python3, its venv module or a package index it says so and succeeds.
 *
 *   pnpm python-exports
 *   node … exports-python.ts [interpreter that has the packages]
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openHeddle, ownerKey } from "../faults/heddle-process.js";
import { installPython } from "./python-environment.js";

const packages = ["torch==2.13.0", "transformers==5.19.0", "peft==0.21.2", "accelerate==1.15.0", "gguf==0.19.0"];
const starter = fileURLToPath(new URL("../../../embedded-engine/models/starter/", import.meta.url));
const program = fileURLToPath(new URL("exports-scenario.py", import.meta.url));

const [given] = process.argv.slice(2);
const environment = given === undefined ? await installPython("exports", packages) : undefined;
const python = given ?? environment?.python;
if (python !== undefined) await check(python);
environment?.remove();

async function check(interpreter: string): Promise<void> {
  const models = mkdtempSync(join(tmpdir(), "heddle-exports-"));
  const directory = join(models, "small");
  const run = (...args: string[]): boolean => {
    const env = { ...process.env, HEDDLE_API_KEY: ownerKey, HF_HUB_OFFLINE: "1", TQDM_DISABLE: "1" };
    const { status } = spawnSync(interpreter, [program, ...args], { env, stdio: ["ignore", "inherit", "inherit"] });
    if (status !== 0) process.exitCode = 1;
    return status === 0;
  };
  try {
    mkdirSync(directory);
    copyFileSync(join(starter, "tokenizer_config.json"), join(directory, "tokenizer_config.json"));
    // llama.cpp has no name for the starter's pattern.
    const tokenizer = JSON.parse(readFileSync(join(starter, "tokenizer.json"), "utf8")) as object;
    const splitting = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
    writeFileSync(join(directory, "tokenizer.json"), JSON.stringify({ ...tokenizer, pre_tokenizer: splitting }));
    if (!run("make", directory)) return;
    const dist = fileURLToPath(new URL("../../dist", import.meta.url));
    const heddle = await openHeddle({ dist, env: { HEDDLE_MODELS_DIR: models } });
    try {
      console.log(`exports, loaded by ${packages.join(", ")}:`);
      run("check", heddle.url, directory, "dir:small", "local/exports");
    } finally {
      await heddle.remove();
    }
  } finally {
    rmSync(models, { recursive: true });
  }
}
