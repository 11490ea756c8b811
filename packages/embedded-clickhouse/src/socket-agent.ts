import { Agent } from "node:http";
import type { AgentOptions } from "node:http";

/** An agent whose requests all go to this Unix socket, whatever host their URL names. */
export function socketAgent(path: string): Agent {
  const options: AgentOptions & { socketPath: string } = { socketPath: path, keepAlive: true };
  return new Agent(options);
}
