import { HeddleError } from "@heddle/errors";
import { ConfigError, readConfig, variables } from "../config.js";
import { backupCommand, backupUsage } from "./backup.js";
import { conformanceCommand, conformanceUsage } from "./conformance.js";
import { keysCommand, keysUsage } from "./keys.js";
import { mockCommand, mockUsage } from "./mock.js";
import { restoreCommand, restoreUsage } from "./restore.js";
import { serveCommand } from "./serve.js";
import type { ServeOptions } from "./serve.js";
import { UsageError } from "./usage.js";
import { operatorLine } from "../outages.js";
import { version } from "../version.js";

const usage = `heddle serve             run the service
${keysUsage.split("\n\n")[0]}
${firstLine(backupUsage).padEnd(25)}copy everything in the data directory, also while the service runs
${firstLine(restoreUsage).padEnd(25)}fill an empty data directory from a backup
${firstLine(conformanceUsage).padEnd(25)}judge a server by the specification
${firstLine(mockUsage).padEnd(25)}respond to everything with the examples of the specification
heddle --version

Settings, as environment variables:
${Object.entries(variables)
  .map(([name, { default: value, meaning }]) => `  ${name.padEnd(24)}${meaning} (default: ${value})`)
  .join("\n")}
`;

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function logLine(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function run([command = "serve", ...args]: string[], options: ServeOptions): Promise<void> {
  if (command === "serve" && args.length === 0) return serveCommand(readConfig(), 0, options);
  if (command === "keys") return keysCommand(args, readConfig(), print);
  if (command === "backup") return backupCommand(args, readConfig(), print);
  if (command === "restore") return restoreCommand(args, readConfig(), print);
  if (command === "conformance") return conformanceCommand(args, process.env, { print, log: logLine });
  if (command === "mock") return mockCommand(args, print);
  if (command === "--version") return print(version);
  if (["help", "--help", "-h"].includes(command)) return print(usage);
  throw new UsageError(`unknown command "${[command, ...args].join(" ")}"`, usage);
}

/** An error of the operating system (no space, no access, no such file) is for the operator to solve, not a defect. */
const isSystemError = (error: unknown): error is Error => error instanceof Error && "syscall" in error;

/** Runs a command of `heddle` and returns its exit code. Errors go to stderr as one line where a line is enough. */
export async function runCommand(args: string[], options: ServeOptions = {}): Promise<number> {
  // Databases, files and backups are for this user alone, whatever directory they are created in.
  process.umask(0o077);
  try {
    await run(args, options);
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`heddle: ${error.message}\n\n${error.usage}\n`);
      return 2;
    }
    if (error instanceof ConfigError || error instanceof HeddleError || isSystemError(error))
      process.stderr.write(`heddle: ${operatorLine(error)}\n`);
    else process.stderr.write(`heddle: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return 1;
  }
}
