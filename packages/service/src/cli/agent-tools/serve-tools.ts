import { once } from "node:events";
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { version } from "../../boot/version.js";
import type { AgentTool } from "../../generated/agent-tools.js";
import { callTool } from "./call-tool.js";
import type { Connections } from "./call-tool.js";
import type { ResultLimits } from "./tool-content.js";

const instructions = `Reads what a Heddle service has recorded about applications of language models: calls and their
traces, evaluations, datasets, feedback, costs, training jobs. Nothing is changed.

A project is named entity/name: projectsQuery lists those there are. callsPage lists calls as rows, callsAggregate counts
and sums them up, traceOutline shows a trace, callRead one call with all that went in and came out. A result that is cut
says so: ask again for less.`;

/** Offers the tools on stdin and stdout, until the host of the agent closes them. Nothing else may write to stdout. */
export async function serveTools(
  tools: readonly AgentTool[],
  connections: Connections,
  limits: ResultLimits,
  log: (line: string) => void,
): Promise<void> {
  const ended = Promise.race([once(process.stdin, "end"), once(process.stdin, "close")]);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const listed = tools.map(({ name, title, description, inputSchema }) => ({
    name,
    title,
    description,
    inputSchema,
    annotations: { title, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  }));
  const create = () => {
    const server = new Server({ name: "heddle", version }, { capabilities: { tools: {} }, instructions });
    server.setRequestHandler("tools/list", () => ({ tools: listed }));
    server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
      const tool = byName.get(params.name);
      if (tool !== undefined) return callTool(tool, params.arguments ?? {}, connections, limits, mcpReq.signal);
      return { content: [{ type: "text", text: `There is no tool ${params.name} here.` }], isError: true };
    });
    return server;
  };
  const served = serveStdio(create, { onerror: (error) => log(`heddle mcp: ${error.message}`) });
  await ended;
  await served.close();
}
