import { HeddleError } from "@heddle/errors";
import { ConfigError } from "../config/config-error.js";
import { operatorLine } from "../operations/outages.js";
import { version } from "../boot/version.js";
import { closestName } from "../closest-name.js";
import { UsageError } from "./command.js";
import type { Command, CommandContext, ServeOptions } from "./command.js";

interface ListedCommand {
  name: string;
  summary: string;
  /** Loaded when it is used, so that help and mistakes are shown at once. */
  load: () => Promise<{ command: Command }>;
}

const commands: readonly ListedCommand[] = [
  { name: "serve", summary: "run the service", load: () => import("./serve.js") },
  { name: "keys", summary: "create, list and revoke API keys", load: () => import("./keys.js") },
  { name: "projects", summary: "list the projects of a service", load: () => import("./projects.js") },
  { name: "calls", summary: "list calls, or follow them as they happen", load: () => import("./calls.js") },
  { name: "trace", summary: "show a trace as a tree", load: () => import("./trace.js") },
  { name: "export", summary: "write calls as JSON Lines, CSV, Parquet or chats", load: () => import("./export.js") },
  { name: "mcp", summary: "let agents read a service over the Model Context Protocol", load: () => import("./mcp.js") },
  {
    name: "backup",
    summary: "copy everything in the data directory, also while the service runs",
    load: () => import("./backup.js"),
  },
  { name: "restore", summary: "fill an empty data directory from a backup", load: () => import("./restore.js") },
  { name: "conformance", summary: "judge a server by the specification", load: () => import("./conformance.js") },
  { name: "open", summary: "print a link to log in to the console", load: () => import("./open.js") },
  { name: "members", summary: "list the replicas of an installation", load: () => import("./members.js") },
  {
    name: "shards",
    summary: "list tracing databases, open one to new projects, and move projects",
    load: () => import("./shards.js"),
  },
  { name: "mock", summary: "respond with the examples of the specification", load: () => import("./mock.js") },
];

const usage = `heddle [COMMAND]

Commands, of which serve is the default:
${commands.map(({ name, summary }) => `  ${name.padEnd(13)}${summary}`).join("\n")}

Options:
  -h, --help     print this help, or that of the command before it
  -v, --version  print the version

Settings are environment variables: see heddle serve --help.
Exit status: 0 after success; 1 when the command failed, with the reason on stderr; 2 for an invalid command line.`;

const isHelp = (arg: string): boolean => arg === "--help" || arg === "-h";

async function run([name = "serve", ...args]: string[], context: CommandContext): Promise<void> {
  if (name === "--version" || name === "-v") return context.print(version);
  if (isHelp(name)) return context.print(usage);
  if (name === "help") return context.print(args[0] === undefined ? usage : (await find(args[0])).usage());
  const command = await find(name);
  if (args.some(isHelp)) return context.print(command.usage());
  await command.run(args, context);
}

async function find(name: string): Promise<Command> {
  const found = commands.find((each) => each.name === name);
  if (found !== undefined) return (await found.load()).command;
  const meant = closestName(
    name,
    commands.map((each) => each.name),
  );
  const kind = name.startsWith("-") ? "option" : "command";
  throw new UsageError(`unknown ${kind} "${name}"${meant === undefined ? "" : `, did you mean ${meant}?`}`, usage);
}

/** An error of the operating system (no space, no access, no such file) is for the operator to solve, not a defect. */
const isSystemError = (error: unknown): error is Error => error instanceof Error && "syscall" in error;

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Runs a command of `heddle` and returns its exit status. Errors go to stderr as one line where a line is enough. */
export async function runCommand(args: string[], serve: ServeOptions = {}): Promise<number> {
  // Databases, files and backups are for this user alone, whatever directory they are created in.
  process.umask(0o077);
  try {
    await run(args, { print, serve });
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
