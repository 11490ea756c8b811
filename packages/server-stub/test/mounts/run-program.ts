import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { build } from "esbuild";
import type { Plugin } from "esbuild";
import { freePort } from "@heddle/tools/free-port";
import { runtimes } from "@heddle/tools/runtimes";
import type { Runtime } from "@heddle/tools/runtimes";

const stub = join(import.meta.dirname, "../..");

export interface ProgramOptions {
  /** Other packages in place of what the program imports by these names. */
  alias?: Record<string, string>;
  /** A file in place of `examples/calls.ts`, which all examples serve. */
  calls?: string;
}

export interface Running {
  url: string;
  stop: () => Promise<void>;
}

/**
 * Runs a program of this package in a process of its own, on a free port in place of its port 4680. Resolves when it
 * accepts connections; rejects with its output when it ends before that.
 */
export async function runProgram(file: string, runtime: Runtime, options: ProgramOptions = {}): Promise<Running> {
  const directory = mkdtempSync(join(tmpdir(), "mount-"));
  const port = await freePort();
  const path = join(directory, "program.mjs");
  const code = (await bundled(join(stub, file), runtime, options)).replaceAll("4680", String(port));
  const { command, args, input, files } = runtimes[runtime]({ code, path, port });
  for (const [name, text] of Object.entries({ [path]: code, ...files })) writeFileSync(name, text);
  const env = { ...process.env, PORT: String(port), DENO_DIR: join(directory, "deno"), DENO_NO_UPDATE_CHECK: "1" };
  const child = spawn(command, args, { cwd: stub, env });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stdin.end(input);
  const ended = once(child, "exit");
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(directory, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  while (!(await responds(url))) {
    if (child.exitCode === null) continue;
    await stop();
    throw new Error(`${file} ended on ${runtime}: ${output}`);
  }
  return { url, stop };
}

/** Frameworks for Node are not part of it: they load parts of themselves by name. */
async function bundled(entry: string, runtime: Runtime, { alias = {}, calls }: ProgramOptions): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "esm",
    // No runtime has decorators yet.
    target: "es2022",
    platform: runtime === "node" ? "node" : "neutral",
    mainFields: ["module", "main"],
    conditions: ["@heddle/source"],
    alias,
    external: ["express*", "fastify", "@nestjs/*", "reflect-metadata"],
    plugins: calls === undefined ? [] : [replaceCalls(calls)],
  });
  return outputFiles[0]?.text ?? "";
}

function replaceCalls(file: string): Plugin {
  return {
    name: "replace calls.ts",
    setup: (builder) => builder.onResolve({ filter: /^\.\/calls\.js$/ }, () => ({ path: join(stub, file) })),
  };
}

/** Waits for a moment when it does not. */
async function responds(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).arrayBuffer();
    return true;
  } catch {
    await delay(20);
    return false;
  }
}
