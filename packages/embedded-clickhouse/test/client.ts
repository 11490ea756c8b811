import { inject } from "vitest";
import type { EngineClientOptions, EngineHost } from "../src/engine-host.js";
import type * as package_ from "../src/index.js";
import { socketAgent } from "../src/socket-agent.js";
import type { EngineHostOptions } from "../src/supervision/start-options.js";

// The provided value is declared where it is provided.
export type { ProvidedClickHouse } from "./global-setup.js";

/** Client options for the ClickHouse of this test run: the engine host's socket, or HEDDLE_CLICKHOUSE_URL. */
export function testClientOptions(): EngineClientOptions {
  const { socketPath, ...options } = inject("clickhouse");
  return socketPath === undefined ? options : { ...options, http_agent: socketAgent(socketPath) };
}

/** `startEngineHost` of the compiled package: from source, every process of it takes a second longer to start. */
export async function startCompiledEngineHost(options: EngineHostOptions): Promise<EngineHost> {
  const index = `${inject("compiled")}/@heddle/embedded-clickhouse/dist/index.js`;
  const { startEngineHost } = (await import(index)) as typeof package_;
  return await startEngineHost(options);
}
