import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { freePort } from "@heddle/tools/free-port";
import { inject } from "vitest";
import type { ServeOptions } from "../../src/cli/command.js";

export const ownerKey = "f".repeat(40);

interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  err: string;
  ms: number;
}

/** `heddle` as an operator runs it: a process of its own that starts its engine host itself. */
export interface HeddleProcess {
  url: string;
  data: string;
  /** What it wrote to stderr so far, over all its lives. */
  log(): string;
  /** 0 when it has ended, by itself too. */
  pid(): number;
  /** The engine host of this life, by the engine's own lock file. */
  enginePid(): number;
  /** Starts it on the same directory and port and resolves when it listens. */
  start(): Promise<void>;
  /** Another build of the service from the next start on; default the one compiled for this test run. */
  replace(dist: string | undefined): void;
  /**
   * Sends a signal and resolves when the process is gone. With `again` a second time, when it has logged the
   * first: pnpm passes on what the terminal has sent already.
   */
  end(signal: NodeJS.Signals, options?: { again?: boolean }): Promise<Exit>;
  /** Resolves when the process ends by itself. */
  ended(): Promise<{ code: number | null }>;
  /** Ends what is left and removes the directory. */
  remove(): Promise<void>;
}

export interface HeddleOptions extends ServeOptions {
  env?: Record<string, string>;
  data?: string;
  /** Directory of the compiled service; default the one compiled for this test run. */
  dist?: string;
  /** Most files that the process may have open. */
  openFiles?: number;
}

interface SpawnOptions extends ServeOptions {
  uid?: number;
  dist?: string;
  openFiles?: number;
}

export type Child = ChildProcessByStdio<null, Readable, Readable>;

/** One `heddle …` of compiled code; nothing of this process's own settings reaches it. */
export function heddle(args: readonly string[], env: Record<string, string>, options: SpawnOptions = {}): Child {
  const { uid, dist = join(inject("compiled"), "@heddle/service/dist"), openFiles, ...serveOptions } = options;
  const command = [process.execPath, ...programOf(dist, args, serveOptions)];
  const limit = openFiles === undefined ? "" : `ulimit -n ${openFiles}; `;
  return spawn("sh", ["-c", `${limit}exec "$@"`, "sh", ...command], {
    env: { PATH: process.env["PATH"], HEDDLE_OTLP_GRPC_PORT: "off", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    uid,
  });
}

/** The `heddle` command as it is installed; with options, a program that does the same with those. */
function programOf(dist: string, args: readonly string[], options: ServeOptions): string[] {
  if (Object.keys(options).length === 0) return [join(dist, "main.js"), ...args];
  const [module, ...values] = [pathToFileURL(join(dist, "cli/run.js")), args, options].map((value) =>
    JSON.stringify(value),
  );
  const script = `import { runCommand } from ${module}; process.exit(await runCommand(${values.join(", ")}));`;
  return ["--input-type=module", "--eval", script];
}

/** Collects what a short command prints, until it ends. */
export async function finished(child: Child): Promise<{ code: number | null; out: string; err: string }> {
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out, err };
}

export async function openHeddle({ env = {}, data, dist, ...options }: HeddleOptions = {}): Promise<HeddleProcess> {
  const directory = data ?? mkdtempSync(join(tmpdir(), "heddle-faults-"));
  // The same one for every life, so that clients keep their URL.
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let child: Child | undefined;
  let log = "";
  let build = dist;

  async function start(): Promise<void> {
    const settings = { HEDDLE_DATA_DIR: directory, HEDDLE_PORT: String(port), HEDDLE_API_KEY: ownerKey, ...env };
    const life = heddle(["serve"], settings, { ...options, ...(build !== undefined && { dist: build }) });
    child = life;
    life.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
    await new Promise<void>((resolve, reject) => {
      life.stdout.on("data", (chunk: Buffer) => {
        if (chunk.toString().includes("listening on")) resolve();
      });
      life.once("close", (code) => reject(new Error(`heddle ended with code ${code}: ${log}`)));
    });
  }

  async function end(signal: NodeJS.Signals, { again = false } = {}): Promise<Exit> {
    const life = child;
    if (life === undefined || life.exitCode !== null) throw new Error(`heddle is not running: ${log}`);
    const started = performance.now();
    const closed = once(life, "close");
    if (again) life.stderr.once("data", () => life.kill(signal));
    life.kill(signal);
    const [code, by] = (await closed) as [number | null, NodeJS.Signals | null];
    child = undefined;
    return { code, signal: by, err: log, ms: performance.now() - started };
  }

  await start();
  return {
    url,
    data: directory,
    log: () => log,
    pid: () => (child === undefined || child.exitCode !== null || child.signalCode !== null ? 0 : (child.pid ?? 0)),
    enginePid: () => enginePid(directory) ?? 0,
    start,
    replace: (other) => void (build = other),
    end,
    async ended() {
      const life = child;
      if (life === undefined) throw new Error(`heddle is not running: ${log}`);
      const [code] = life.exitCode === null ? ((await once(life, "close")) as [number | null]) : [life.exitCode];
      child = undefined;
      return { code };
    },
    async remove() {
      if (child !== undefined && child.exitCode === null) await end("SIGKILL");
      // The host follows its parent; its files may still be written to until then.
      for (let tries = 0; tries < 50 && isAlive(enginePid(directory)); tries++) await delay(100);
      if (data === undefined) rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function enginePid(data: string): number | undefined {
  const file = join(data, "clickhouse", "status");
  if (!existsSync(file)) return undefined;
  return Number(/^PID: (\d+)/m.exec(readFileSync(file, "utf8"))?.[1]) || undefined;
}

function isAlive(pid: number | undefined): boolean {
  if (pid === undefined || pid === 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
