import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Runs a program of this folder that uses the npm package `weave`, and returns the JSON that it prints last. */
export async function runProgram(
  name: string,
  { url, key, args, start }: { url: string; key: string; args: string[]; start: string },
): Promise<unknown> {
  const program = fileURLToPath(new URL(name, import.meta.url));
  const { stdout } = await run(process.execPath, ["--import", "tsx", program, ...args], {
    env: {
      PATH: process.env["PATH"],
      HOME: "/nonexistent",
      WF_TRACE_SERVER_URL: url,
      WANDB_API_KEY: key,
      WEAVE_PRINT_CALL_LINK: "false",
    },
    timeout: 25_000,
  });
  return JSON.parse(stdout.slice(stdout.indexOf(start)));
}
