import { execFile } from "node:child_process";
import { createRequire } from "node:module";

const cli = createRequire(import.meta.url).resolve("@redocly/cli/bin/cli.js");

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the Redocly CLI without telemetry and update notices, until the signal ends it. Does not throw for a non-zero exit. */
export function runRedocly(args: string[], cwd: string, signal?: AbortSignal): Promise<Outcome> {
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", NO_COLOR: "1" };
  const options = { cwd, env, maxBuffer: 256 * 1024 * 1024, ...(signal && { signal }) };
  return new Promise((resolve) => {
    execFile(process.execPath, [cli, ...args], options, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? 1 : 0, stdout, stderr });
    });
  });
}

/** As `runRedocly`, for runs that have to succeed. */
export async function redocly(args: string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await runRedocly(args, cwd);
  if (code !== 0) throw new Error(`redocly ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}
