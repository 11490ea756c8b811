import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { Integration } from "./pages.js";

const run = promisify(execFile);
const require = createRequire(import.meta.url);

/** The packages of an integration in a directory of their own. */
export interface Installed {
  /** Runs the program, of which the compiler must approve, with the settings of its page and those given; returns what it prints. */
  run(settings: string, env: Record<string, string>): Promise<string>;
  remove(): void;
}

/** Throws when the packages cannot be installed; `uv` is the path of the program that installs those for Python. */
export async function install(
  { language, packages, program }: Integration,
  uv: string | undefined,
): Promise<Installed> {
  const directory = mkdtempSync(join(tmpdir(), "heddle-integration-"));
  const copy = join(directory, basename(program));
  try {
    if (language === "python") await installPython(uv ?? "uv", directory, packages);
    else await installNpm(directory, packages);
    copyFileSync(program, copy);
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
  const command =
    language === "python"
      ? [join(directory, "venv/bin/python"), "-P", copy]
      : [process.execPath, "--import", pathToFileURL(require.resolve("tsx")).href, copy];
  return {
    async run(settings, env) {
      if (language === "ts") await compile(directory);
      const home = join(directory, "home");
      mkdirSync(home, { recursive: true });
      const { stdout } = await run("sh", ["-c", `${settings}\nexec "$@"`, "sh", ...command], {
        cwd: directory,
        env: { PATH: process.env["PATH"], HOME: home, TMPDIR: home, ...env },
        timeout: 120_000,
        maxBuffer: 2 ** 26,
      });
      return stdout;
    },
    remove: () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }),
  };
}

async function installPython(uv: string, directory: string, packages: string[]): Promise<void> {
  const venv = join(directory, "venv");
  const options = { timeout: 300_000, maxBuffer: 2 ** 26 };
  await run(uv, ["venv", "--quiet", "--python", "python3", venv], options);
  await run(uv, ["pip", "install", "--quiet", "--python", join(venv, "bin/python"), ...packages], options);
}

async function installNpm(directory: string, packages: string[]): Promise<void> {
  writeFileSync(join(directory, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "--loglevel", "error"];
  await run("npm", ["install", ...options, ...packages], { cwd: directory, timeout: 300_000, maxBuffer: 2 ** 26 });
}

/** Throws what the compiler finds in the programs of a directory. */
async function compile(directory: string): Promise<void> {
  const compilerOptions = {
    target: "es2023",
    module: "nodenext",
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    types: ["node"],
    typeRoots: [join(require.resolve("@types/node/package.json"), "../..")],
  };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  const tsc = join(require.resolve("typescript/package.json"), "../bin/tsc");
  await run(process.execPath, [tsc, "--pretty", "false"], { cwd: directory }).catch((error: unknown) => {
    throw new Error((error as { stdout: string }).stdout, { cause: error });
  });
}
