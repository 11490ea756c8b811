import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

/** The environment of the command: what the machine that tests has set, it does not see. */
export const environment = { PATH: process.env["PATH"], HEDDLE_PORT: "0", HEDDLE_OTLP_GRPC_PORT: "off" };

/** A registry for programs that must not need one: nothing listens there. */
export const deadRegistry = "http://127.0.0.1:9";

export interface RunningService {
  url: string;
  key: string;
  /** What it has printed so far. */
  output: () => string;
  /** Ends it, and returns its exit code and signal. */
  end: () => Promise<unknown[]>;
}

/** Runs the service that is installed in a project, until the test is over at the latest. */
export async function runService(project: string): Promise<RunningService> {
  const data = mkdtempSync(join(project, "data-"));
  const env = { ...environment, HEDDLE_DATA_DIR: data };
  const child = spawn(join(project, "node_modules/.bin/heddle"), ["serve"], { cwd: project, env });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, "exit");
  const url = await Promise.race([
    listening(child.stdout),
    ended.then(() => Promise.reject(new Error(`heddle serve ended: ${output}`))),
  ]);
  return {
    url,
    key: readFileSync(join(data, "api-key"), "utf8").trim(),
    output: () => output,
    end: () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

/** The address that the service prints. */
async function listening(stdout: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(stdout)) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url) return url;
  }
  throw new Error("heddle serve printed no address");
}
