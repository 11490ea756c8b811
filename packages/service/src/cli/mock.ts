import { parseArgs } from "node:util";
import { createMockServer, mockOperations } from "@heddle/conformance/mock";
import { listen } from "@heddle/server-stub/node";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";

const usage = `heddle mock [--port PORT] [--host HOST]

Responds to every operation with the example of the specification, after checking the request as the service does. Any
key is accepted, pages of every origin may use it, and nothing is stored.

  --port PORT  default: 4681; 0 picks a free one
  --host HOST  default: 127.0.0.1`;

export const command: Command = {
  usage: () => usage,
  async run(args, { print }) {
    const running = await startMock(args, print);
    await new Promise<void>((resolve) => {
      for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
    });
    await running.close();
  },
};

/** Starts the server and prints what it is. Throws {@link UsageError}. */
export async function startMock(args: string[], print: (line: string) => void) {
  const { port, host } = readArguments(args);
  const running = await listen(createMockServer(), { port, host });
  print(`Mock of the Heddle interfaces on ${running.url}`);
  print(
    `${mockOperations} operations respond with the examples of the specification. Requests are validated, any key is`,
  );
  print("accepted, pages of every origin may use it (CORS), and nothing is stored.");
  return running;
}

function readArguments(args: string[]): { port: number; host: string } {
  const { port, host } = parsed(args);
  const number = Number(port);
  if (/^\d+$/.test(port) && number <= 65_535) return { port: number, host };
  throw new UsageError(`--port must be a number from 0 to 65535, not "${port}"`, usage);
}

function parsed(args: string[]) {
  try {
    const options = {
      port: { type: "string", default: "4681" },
      host: { type: "string", default: "127.0.0.1" },
    } as const;
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), usage);
  }
}
