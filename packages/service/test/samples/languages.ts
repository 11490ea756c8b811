import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Sample } from "@heddle/tools/samples";

/** What came of a program. */
export interface Outcome {
  /** Statuses of the responses that it received. */
  statuses: number[];
  /** What it printed. */
  output: string;
  /** Why it failed. */
  error?: string;
}

/** Runs programs of one language, one after the other. */
export interface Language {
  name: Sample["language"];
  /** The directory that programs run in. */
  directory: string;
  run(code: string): Promise<Outcome>;
  close(): Promise<void>;
}

interface Environment {
  /** Address of the service, in place of the one in the programs. */
  url: string;
  apiKey: string;
}

/** Command lines, by the shell and curl of this machine. */
export function openShell({ url, apiKey }: Environment): Language {
  const directory = mkdtempSync(join(tmpdir(), "heddle-samples-"));
  // Options of every command: the port of this service instead of the documented one, and the status after the output.
  const options = ["silent", "show-error", `connect-to = "127.0.0.1:4680:${new URL(url).host}"`];
  writeFileSync(join(directory, ".curlrc"), [...options, String.raw`write-out = "\n%{http_code}"`, ""].join("\n"));
  const env = { PATH: process.env["PATH"] ?? "", HOME: directory, CURL_HOME: directory, HEDDLE_API_KEY: apiKey };
  return {
    name: "sh",
    directory,
    run: (code) =>
      new Promise((resolve) => {
        execFile("sh", ["-c", code], { cwd: directory, env, timeout: 20_000 }, (error, stdout, stderr) => {
          const [output, status] = [stdout.slice(0, -4), stdout.slice(-3)];
          resolve({ statuses: [Number(status)], output, ...(error && { error: stderr || error.message }) });
        });
      }),
    close: async () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Modules of TypeScript, with the client from its source. */
export function openTypescript(environment: Environment): Language {
  // Where imports of the client resolve.
  const directory = fileURLToPath(new URL("../../dist/", import.meta.url));
  mkdirSync(directory, { recursive: true });
  const modules = mkdtempSync(join(directory, "samples-"));
  const runner = fileURLToPath(new URL("run-typescript.ts", import.meta.url));
  const tsx = createRequire(import.meta.url).resolve("tsx");
  const args = ["--import", tsx, "-C", "@heddle/source", runner];
  return openRunner(process.execPath, args, { ...environment, name: "ts", modules, extension: "ts" });
}

/** Programs of Python, by an interpreter that has the package `requests`. */
export function openPython(python: string, environment: Environment): Language {
  const modules = mkdtempSync(join(tmpdir(), "heddle-samples-"));
  const runner = fileURLToPath(new URL("run-python.py", import.meta.url));
  return openRunner(python, [runner], { ...environment, name: "python", modules, extension: "py" });
}

interface Runner extends Environment {
  name: Sample["language"];
  /** Where the programs are written. */
  modules: string;
  extension: string;
}

/** A process that runs the program in each file that a line of its input names. */
function openRunner(command: string, args: string[], { url, apiKey, name, modules, extension }: Runner): Language {
  const directory = mkdtempSync(join(tmpdir(), "heddle-samples-"));
  const child = spawn(command, args, {
    cwd: directory,
    env: { PATH: process.env["PATH"] ?? "", HOME: directory, HEDDLE_API_KEY: apiKey },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let count = 0;
  return {
    name,
    directory,
    async run(code) {
      const file = join(modules, `sample-${(count += 1)}.${extension}`);
      writeFileSync(file, code.replaceAll("http://127.0.0.1:4680", url));
      child.stdin.write(`${file}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${command} ended while it ran ${file}`);
      return JSON.parse(value) as Outcome;
    },
    async close() {
      child.stdin.end();
      await closed;
      for (const each of [directory, modules]) rmSync(each, { recursive: true, force: true });
    },
  };
}
