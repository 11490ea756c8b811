import { parseArgs } from "node:util";
import { connectTracing } from "@heddle/client/tracing";
import { connectTraining } from "@heddle/client/training";
import { closestName } from "../closest-name.js";
import { agentTools } from "../generated/agent-tools.js";
import type { AgentTool } from "../generated/agent-tools.js";
import { serveTools } from "./agent-tools/serve-tools.js";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";
import { remoteOf, remoteUsage } from "./remote.js";
import { wholeNumber } from "./selection.js";

const usage = `heddle mcp [OPTION]...

Lets agents read a service over the Model Context Protocol, on stdin and stdout: each operation of the interfaces that
reads is a tool. The host of the agent starts it; see "Agents read your traces (MCP)" in the documentation.

  --only NAMES      only these tools: names as callRead, or whole groups as "Training Jobs", with commas; may be repeated
  --max-bytes N     the most bytes of a result, beyond which it is cut; default 40000
  --list            print the names of the tools by group, and end
${remoteUsage}`;

export const command: Command = {
  usage: () => usage,
  run: async (args, { print }) => mcpCommand(args, process.env, print),
};

/** Milliseconds: of a stream that does not end by itself, an agent gets what comes within them. */
const streamTime = 10_000;

/** `heddle mcp` */
export async function mcpCommand(args: string[], env: NodeJS.ProcessEnv, print: (line: string) => void): Promise<void> {
  const { url, only, list, "max-bytes": maxBytes } = readArguments(args);
  const tools = only === undefined ? agentTools : chosen(only.flatMap((names) => names.split(",")));
  const bytes = wholeNumber("--max-bytes", maxBytes, usage, 1000);
  if (list) {
    const inGroup = (group: string) => tools.filter((tool) => tool.group === group).map(({ name }) => name);
    for (const group of new Set(tools.map((tool) => tool.group))) print(`${group}: ${inGroup(group).join(", ")}`);
    return;
  }
  const remote = remoteOf(url, env);
  const connections = { tracing: connectTracing(remote), training: connectTraining(remote) };
  await serveTools(tools, connections, { bytes, streamTime }, (line) => void process.stderr.write(`${line}\n`));
}

/** The tools with these names, and those of the groups with these names, in the order of the interface. */
function chosen(names: readonly string[]): readonly AgentTool[] {
  const wanted = names.map((name) => name.trim().toLowerCase()).filter((name) => name !== "");
  const namesOf = ({ name, group }: AgentTool) => [name.toLowerCase(), group.toLowerCase()];
  const all = new Set(agentTools.flatMap(({ name, group }) => [name, group]));
  for (const name of wanted) {
    if (agentTools.some((tool) => namesOf(tool).includes(name))) continue;
    const meant = closestName(name, [...all]);
    const hint = meant === undefined ? "heddle mcp --list shows them" : `did you mean ${meant}?`;
    throw new UsageError(`--only: there is no tool and no group "${name}", ${hint}`, usage);
  }
  return agentTools.filter((tool) => namesOf(tool).some((name) => wanted.includes(name)));
}

function readArguments(args: string[]) {
  try {
    const options = {
      only: { type: "string", multiple: true },
      "max-bytes": { type: "string", default: "40000" },
      list: { type: "boolean", default: false },
      url: { type: "string" },
    } as const;
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), usage);
  }
}
