import { HeddleApiError } from "@heddle/client";
import * as tracing from "@heddle/client/tracing";
import * as training from "@heddle/client/training";
import type { Connection } from "@heddle/client/tracing";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { explain } from "../remote.js";
import type { AgentTool } from "../../generated/agent-tools.js";
import { wrongArgument } from "./arguments.js";
import { fileContent, jsonContent, linesContent } from "./tool-content.js";
import type { ResultLimits } from "./tool-content.js";

/** A connection to each interface of one service. */
export interface Connections {
  tracing: Connection<"tracing">;
  training: Connection<"training">;
}

type Method = (
  connection: Connection,
  input: object,
  options: { raw: true; signal: AbortSignal; retries: number; onResponse: () => void },
) => AsyncIterable<unknown> | Promise<unknown>;

/** Carries out the operation. What fails is a result, too: the agent reads the reason and goes on. */
export async function callTool(
  tool: AgentTool,
  given: Readonly<Record<string, unknown>>,
  connections: Connections,
  limits: ResultLimits,
  cancelled: AbortSignal,
): Promise<CallToolResult> {
  const wrong = wrongArgument(tool, given);
  if (wrong !== undefined) return failed(wrong);
  const connection = connections[tool.interface];
  const operations: Readonly<Record<string, unknown>> = { tracing, training }[tool.interface];
  const method = operations[tool.name] as Method;
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  try {
    // One further try: an agent would rather know.
    const options = { raw: true, signal: AbortSignal.any([cancelled, over.signal]), retries: 1 } as const;
    // A response that is one document is read to its end, within the time limit of the client.
    const onResponse = () => (timer ??= setTimeout(() => over.abort(), limits.streamTime));
    const result = method(connection, given, { ...options, onResponse });
    if (Symbol.asyncIterator in result) {
      const most = typeof given["limit"] === "number" ? given["limit"] : Infinity;
      const isOver = () => over.signal.aborted && !cancelled.aborted;
      return { content: await linesContent(result, limits, { most, isOver }) };
    }
    const value = await result;
    if (tool.bytes === true) return { content: fileContent(value as Uint8Array, fileName(given), limits) };
    return { content: jsonContent(value, limits) };
  } catch (error) {
    if (cancelled.aborted) throw error;
    if (error instanceof HeddleApiError) return failed(explain(error, connection.baseUrl));
    return failed(error instanceof Error ? error.message : String(error));
  } finally {
    clearTimeout(timer);
  }
}

const failed = (reason: string): CallToolResult => ({ content: [{ type: "text", text: reason }], isError: true });

function fileName({ path, digest }: Readonly<Record<string, unknown>>): string {
  const name = path ?? digest;
  return typeof name === "string" ? name : "file";
}
