/**
 * Reads the wire of a server or client of others from its package, and compares it with the recorded one, which the tests hold ours
 * to. Installs the package from the package index; without Python or the index it says so in one line and succeeds.
 *
 *   pnpm tinker-contract [directory that keeps the virtualenv] [-u]
 *   pnpm sglang-contract [directory that keeps the virtualenv] [-u]
 *   pnpm vllm-contract [directory that keeps the virtualenv] [-u]
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pythonEnvironment, sglangRelease, tinkerRelease, vllmRelease } from "./python-environments.js";

const described = {
  tinker: `Tinker SDK ${tinkerRelease}`,
  sglang: `SGLang ${sglangRelease}`,
  vllm: `vLLM ${vllmRelease}`,
};
const environments = { tinker: "tinker", sglang: "sglang", vllm: "vllm-package" } as const;

const [which = "", ...parameters] = process.argv.slice(2);
const name = which === "sglang" || which === "vllm" ? which : "tinker";
const recorded = fileURLToPath(new URL(`../test/${name}-contract.json`, import.meta.url));
const kept = parameters.find((each) => each !== "-u");
const scratch = await mkdtemp(join(tmpdir(), `heddle-${name}-contract-`));
try {
  const directory = kept === undefined ? scratch : resolve(kept);
  await mkdir(directory, { recursive: true });
  const python = await pythonEnvironment(directory, environments[name]).catch((error: unknown) => {
    console.log(`${described[name]}: SKIPPED, ${error instanceof Error ? error.message : String(error)}`);
  });
  if (python !== undefined) await check(python);
} finally {
  await rm(scratch, { recursive: true, force: true });
}

async function check(python: string): Promise<void> {
  const script = fileURLToPath(new URL(`${name}-contract.py`, import.meta.url));
  const { stdout } = await promisify(execFile)(python, [script], { maxBuffer: 2 ** 24 });
  if (parameters.includes("-u")) await writeFile(recorded, stdout);
  const isSame = JSON.stringify(JSON.parse(stdout)) === JSON.stringify(JSON.parse(await readFile(recorded, "utf8")));
  console.log(`${described[name]} ${isSame ? "speaks" : "does not speak"} the recorded wire`);
  if (!isSame) process.exitCode = 1;
}
