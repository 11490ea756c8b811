import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { pathExists } from "@heddle/durable-files";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import type { RunStatement } from "@heddle/trace-store";
import { ConfigError } from "../../config/config-error.js";
import type { Config } from "../../config/config.js";
import { engineDirectory, openDataDirectory } from "../data-directory.js";
import { firstLine } from "../outages.js";

/** The embedded engine of a data directory, whether a service runs on it or not. */
export interface EngineAccess {
  /** Runs a statement without a time limit. */
  run: RunStatement;
  close(): Promise<void>;
}

/** The directory in which the engine writes and reads backups. */
export const engineBackups = ({ dataDir }: Config, position = 1): string =>
  join(engineDirectory(dataDir, position), "backups");

/** How many engines a data directory has. */
export function engineCount({ dataDir }: Config): number {
  let count = 1;
  while (pathExists(engineDirectory(dataDir, count + 1))) count++;
  return count;
}

/** Where a backup has what was in each of them. */
export const tracesIn = (backup: string, position: number): string =>
  join(backup, position === 1 ? "traces" : `traces-${position}`);

interface ReachOptions {
  restoring?: boolean;
  /** Which of the engines; default the first. */
  position?: number;
}

/** Talks to the engine host of the running service over its socket; starts one when no service runs. */
export async function reachEngine(
  config: Config,
  { position = 1, ...options }: ReachOptions = {},
): Promise<EngineAccess> {
  const directory = engineDirectory(config.dataDir, position);
  const held = holdUnlessRunning(config.dataDir, options);
  if (held === undefined) {
    const socket = join(directory, "engine.sock");
    if (!pathExists(socket)) {
      throw new ConfigError(
        `the engine of ${directory} has no socket here, as with HEDDLE_WORKERS or a long path. Stop the service and try again.`,
      );
    }
    return { run: (sql) => post(socket, sql), close: async () => {} };
  }
  try {
    const host = await startEngineHost({ directory, memoryBytes: config.engineMemoryBytes });
    return {
      run: (sql) => post(host.socketPath ?? "", sql),
      async close() {
        await host.close();
        held.release();
      },
    };
  } catch (error) {
    held.release();
    throw new ConfigError(error instanceof Error ? error.message : String(error));
  }
}

function holdUnlessRunning(path: string, options: { restoring?: boolean }): { release(): void } | undefined {
  try {
    return openDataDirectory(path, options);
  } catch (error) {
    if (error instanceof ConfigError && error.message.includes("in use by process")) return undefined;
    throw error;
  }
}

async function post(socketPath: string, sql: string): Promise<string[]> {
  let status: number | undefined;
  let text = "";
  try {
    const outgoing = request({ socketPath, path: "/?max_execution_time=0", method: "POST", agent: false });
    outgoing.end(sql);
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
    status = response.statusCode;
  } catch (error) {
    throw new ConfigError(
      `the trace engine does not respond: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  if (status !== 200) throw new ConfigError(`the trace engine rejects the statement: ${firstLine(text)}`);
  return text.split("\n").filter((line) => line !== "");
}
