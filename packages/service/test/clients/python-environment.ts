import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A virtualenv of its own in a temporary directory. */
export interface PythonEnvironment {
  directory: string;
  /** Path of the interpreter. */
  python: string;
  /** Runs a program with only the variables given, and `HOME` and `TMPDIR` in the directory; resolves to its exit code. */
  run(args: string[], env: Record<string, string>): Promise<number | null>;
  remove(): void;
}

/** Installs packages as PyPI has them; undefined where that cannot be done, after saying why. */
export async function installPython(name: string, packages: string[]): Promise<PythonEnvironment | undefined> {
  const directory = mkdtempSync(join(tmpdir(), "heddle-python-"));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  const skipped = (what: string, error: unknown) => {
    const { stderr = "" } = error as { stderr?: string };
    console.log(`${name} for Python: SKIPPED, ${what}: ${stderr.trim().split("\n").at(-1) || String(error)}`);
    remove();
  };
  const environment = join(directory, "venv");
  try {
    await run("python3", ["-m", "venv", environment]);
  } catch (error) {
    skipped("there is no python3 with the module venv", error);
    return undefined;
  }
  const python = join(environment, "bin", "python");
  try {
    const pip = ["-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "install", "-q", ...packages];
    await run(python, pip, { timeout: 300_000, maxBuffer: 2 ** 26 });
  } catch (error) {
    skipped(`${packages.join(" ")} cannot be installed`, error);
    return undefined;
  }
  return {
    directory,
    python,
    remove,
    async run(args, env) {
      const child = spawn(python, args, {
        cwd: directory,
        env: { PATH: process.env["PATH"] ?? "", HOME: directory, TMPDIR: directory, ...env },
        stdio: ["ignore", "inherit", "pipe"],
        timeout: 600_000,
      });
      // Links and progress, of interest only when something fails.
      let log = "";
      child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
      const [code] = (await once(child, "close")) as [number | null];
      if (code !== 0) console.log(log);
      return code;
    },
  };
}
