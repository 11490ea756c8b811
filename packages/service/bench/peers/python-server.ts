import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { text } from "../results.js";

const run = promisify(execFile);

export interface PythonServer {
  version: string;
  pid: number;
  stop: () => Promise<void>;
}

export interface PythonServerOptions {
  /** As PyPI has it: the newest that can be installed. */
  package: string;
  /** For what it stores; default one that is removed at the end. */
  directory: string | undefined;
  /** Of the program that the package installs, with a directory for what it stores. */
  command: (directory: string) => string[];
  env: (directory: string) => Record<string, string>;
  /** Responds once the server is ready. */
  readyAt: string;
}

/** Installs a package in a virtualenv of its own and starts its server; undefined, after a line that says why, where that cannot be done. */
export async function startPythonServer(options: PythonServerOptions): Promise<PythonServer | undefined> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), "heddle-peer-"));
  mkdirSync(directory, { recursive: true });
  const remove = () => {
    if (options.directory === undefined) rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  };
  const venv = join(text("venvs", directory), options.package);
  const python = join(venv, "bin", "python");
  try {
    if (!existsSync(python)) await run("python3", ["-m", "venv", venv]);
    const pip = ["-m", "pip", "--disable-pip-version-check", "install", "-q", options.package];
    await run(python, pip, { timeout: 1_800_000, maxBuffer: 2 ** 26 });
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    console.log(
      `${options.package}: SKIPPED, cannot be installed: ${stderr.trim().split("\n").at(-1) || String(error)}`,
    );
    remove();
    return undefined;
  }
  const metadata = `import importlib.metadata as m; print(m.version("${options.package}"))`;
  const version = (await run(python, ["-c", metadata])).stdout.trim();
  const [program = "", ...parameters] = options.command(directory);
  const child = spawn(join(venv, "bin", program), parameters, {
    cwd: directory,
    env: {
      PATH: `${join(venv, "bin")}:${process.env["PATH"]}`,
      HOME: directory,
      TMPDIR: directory,
      ...options.env(directory),
    },
    stdio: ["ignore", "pipe", "pipe"],
    // It may start others.
    detached: true,
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (log = (log + chunk).slice(-4000)));
  const ended = once(child, "exit");
  const kill = () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, "SIGKILL");
  };
  process.once("exit", kill);
  const deadline = performance.now() + 300_000;
  for (;;) {
    const response = await fetch(options.readyAt).catch(() => undefined);
    if (response?.ok === true) break;
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(`${options.package} does not start:\n${log}`);
    await delay(500);
  }
  return {
    version,
    pid: child.pid ?? 0,
    async stop() {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM");
      if ((await Promise.race([ended, delay(10_000)])) === undefined) kill();
      await ended;
      remove();
    },
  };
}
