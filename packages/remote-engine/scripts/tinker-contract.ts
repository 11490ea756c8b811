/**
 * Reads the wire of the Tinker SDK from its package, and compares it with the recorded one, which the tests hold the
 * client to. Installs the SDK from the package index; without Python or the index it says so in one line and succeeds.
 *
 *   pnpm tinker-contract [directory that keeps the virtualenv] [-u]
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pythonEnvironment, tinkerRelease } from "./python-environments.js";

const recorded = fileURLToPath(new URL("../test/tinker-contract.json", import.meta.url));
const kept = process.argv.slice(2).find((each) => each !== "-u");
const scratch = await mkdtemp(join(tmpdir(), "heddle-tinker-contract-"));
try {
  const directory = kept === undefined ? scratch : resolve(kept);
  await mkdir(directory, { recursive: true });
  const python = await pythonEnvironment(directory, "tinker").catch((error: unknown) => {
    console.log(`Tinker contract: SKIPPED, ${error instanceof Error ? error.message : String(error)}`);
  });
  if (python !== undefined) await check(python);
} finally {
  await rm(scratch, { recursive: true, force: true });
}

async function check(python: string): Promise<void> {
  const script = fileURLToPath(new URL("tinker-contract.py", import.meta.url));
  const { stdout } = await promisify(execFile)(python, [script], { maxBuffer: 2 ** 24 });
  if (process.argv.includes("-u")) await writeFile(recorded, stdout);
  const isSame = JSON.stringify(JSON.parse(stdout)) === JSON.stringify(JSON.parse(await readFile(recorded, "utf8")));
  console.log(`Tinker contract: SDK ${tinkerRelease} ${isSame ? "speaks" : "does not speak"} the recorded wire`);
  if (!isSame) process.exitCode = 1;
}
